//! The ids of classes and tenants in the kernel's tables.

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_CLASSES, TAKT_NODES};
use takt_policy::Link;

use super::ids::Ids;

/// The name of a class has no colon in it.
const TENANT: &str = "tenant:";

/// Ids of classes and tenants, which share one range, and the tenants' nodes. Names that stay keep
/// both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassIds {
    /// Classes by name, tenants by "tenant:" and their name.
    #[serde(flatten)]
    ids: Ids,
    /// By the tenant's name.
    /// `groups` in records.
    #[serde(rename = "groups")]
    nodes: Ids,
}

impl ClassIds {
    /// Of a class.
    pub fn id(&self, name: &str) -> Option<u32> {
        self.ids.get(name)
    }

    /// The id of a tenant.
    pub fn tenant_id(&self, name: &str) -> Option<u32> {
        self.ids.get(&tenant_key(name))
    }

    /// The tenant's node.
    pub fn node(&self, tenant: &str) -> Option<u32> {
        self.nodes.get(tenant)
    }

    /// Names and ids, by name.
    pub fn classes(&self) -> impl Iterator<Item = (&str, u32)> {
        self.ids
            .iter()
            .filter(|(name, _)| !name.starts_with(TENANT))
    }

    /// Names and ids, by name.
    pub fn tenants(&self) -> impl Iterator<Item = (&str, u32)> {
        self.ids
            .iter()
            .filter_map(|(name, id)| Some((name.strip_prefix(TENANT)?, id)))
    }

    /// Ids of classes and tenants that were removed. Classes may still have packets queued.
    pub fn leaving(&self) -> impl Iterator<Item = u32> {
        self.ids.left()
    }

    /// The ids of the next policy. It has fewer classes and tenants than there
    /// are ids.
    pub(crate) fn assign(&self, link: &Link) -> Self {
        let tenants = || link.tenants.iter().map(|tenant| tenant.name.as_str());
        let keys: Vec<String> = tenants().map(tenant_key).collect();
        let classes = link.classes.iter().map(|class| class.name.as_str());
        Self {
            ids: self
                .ids
                .assign(classes.chain(keys.iter().map(String::as_str)), TAKT_CLASSES),
            nodes: self.nodes.assign(tenants(), TAKT_NODES),
        }
    }
}

fn tenant_key(name: &str) -> String {
    format!("{TENANT}{name}")
}

//! `[[link.DEV.tenant]]`

use toml::de::DeTable;

use super::share::{self, ReadShare};
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::keys::{Key, Schema, Takes};
use crate::read::place::Place;
use crate::read::section::{Field, Section, tables};
use crate::source::{Source, Span};
use crate::value::{name, rate};

pub(in crate::read) const TENANT: Schema = Schema {
    what: "tenant",
    place: Some(Place::Tenant),
    doc: "A link within the link: its classes share one guarantee and one ceiling",
    keys: &[
        Key::required("name", Takes::Spelled(name::schema), "Name of the tenant"),
        Key::new(
            "rate",
            Takes::Spelled(rate::schema),
            "Guaranteed to its classes together; up to the link's",
        ),
        Key::new(
            "ceil",
            Takes::Spelled(rate::schema),
            "What its classes together may take; default: rate, without it the link's",
        ),
        share::WEIGHT,
        Key::new(
            "floor",
            Takes::Spelled(rate::schema),
            "Served before all priorities; up to ceil",
        ),
        share::PRIORITY,
    ],
};

/// The kernel has room for 63 besides the link itself.
const TENANTS_MAX: usize = 63;
const EXAMPLE: &str = "[[link.eth0.tenant]], with two brackets";

/// A tenant in the file's terms. Wrong values are absent, and have been reported.
pub(crate) struct ReadTenant {
    pub name: Option<String>,
    /// Where the tenant is named, or where it starts.
    pub span: Span,
    pub line: usize,
    pub share: ReadShare,
}

impl ReadTenant {
    /// For messages.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or("?")
    }
}

pub(super) fn read_all(
    tenants: Option<Field>,
    source: &Source,
    findings: &mut Findings,
) -> Vec<ReadTenant> {
    let tables = tables(tenants, EXAMPLE, findings);
    if let Some((_, span)) = tables.get(TENANTS_MAX) {
        let error = Diagnostic::error(
            Code::TooManyTenants,
            format!(
                "{} tenants are more than the {TENANTS_MAX} a link can have",
                tables.len()
            ),
            "let tenants that need no ceiling of their own share one",
        );
        findings.add(error.at(span, "the first one too many"));
        return Vec::new();
    }
    tables
        .into_iter()
        .map(|(table, span)| read(table, span, source, findings))
        .collect()
}

fn read(table: &DeTable, span: Span, source: &Source, findings: &mut Findings) -> ReadTenant {
    let section = Section::open(table, &TENANT, findings);
    let line = source.line(span.start);
    let (name, span) = section.name(TENANT.what, "acme", span, findings);
    ReadTenant {
        name,
        span,
        line,
        share: share::read(&section, findings),
    }
}

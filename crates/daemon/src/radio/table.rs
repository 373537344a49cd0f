//! A link's table of stations, in the kernel.

use takt_host::stations::Stations;
use takt_wlan::Address;

/// Where weights are written.
pub(super) trait Table {
    /// Whether its link still exists.
    fn is_attached(&self) -> bool;
    /// Whether its link knows stations by this kind of address.
    fn takes(&self, address: &Address) -> bool;
    /// All stations with a weight that was not set by hand.
    fn known(&self) -> Vec<Address>;
    fn weigh(&mut self, address: Address, weight_ppm: u32) -> Result<(), String>;
    fn forget(&mut self, address: Address);
    /// What weights come from worked so long ago: they count for 5 s after it.
    fn refresh(&mut self, ago_ns: u64);
}

impl Table for Stations {
    fn is_attached(&self) -> bool {
        self.stand()
    }

    fn takes(&self, address: &Address) -> bool {
        matches!(address, Address::Mac(_)) == self.are_macs()
    }

    fn known(&self) -> Vec<Address> {
        let known = self.list().into_iter();
        known
            .filter(|station| station.known && !station.by_hand)
            .map(|station| station.address)
            .collect()
    }

    fn weigh(&mut self, address: Address, weight_ppm: u32) -> Result<(), String> {
        self.set(address, weight_ppm)
            .map_err(|error| error.to_string())
    }

    fn forget(&mut self, address: Address) {
        Stations::forget(self, address);
    }

    fn refresh(&mut self, ago_ns: u64) {
        self.refresh_ago(ago_ns);
    }
}

pub(super) fn open(device: &str) -> Result<Box<dyn Table>, String> {
    let table = Stations::open(device).map_err(|error| error.to_string())?;
    Ok(Box::new(table))
}

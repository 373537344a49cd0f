//! The driver's own table of stations, at an access point.

use std::collections::BTreeMap;

use takt_host::SignalMeter;

use super::{Source, SourceError};
use crate::{Address, radio::Sample};

/// A station counts as heard as long as the access point has it, with the signal of the last
/// frame from it. A station that sends nothing is not gone, and its weight must not fall so far
/// that it is sent nothing any more.
pub struct StationDump {
    device: String,
    meter: Option<SignalMeter>,
}

impl StationDump {
    /// For this access point's device, which need not exist yet.
    pub fn new(device: impl Into<String>) -> Self {
        Self {
            device: device.into(),
            meter: None,
        }
    }

    /// The stations' SNR in dB. After an error the device is looked up again: it may have been
    /// recreated with another number.
    pub fn measure(&mut self) -> Result<BTreeMap<[u8; 6], i32>, SourceError> {
        let meter = match self.meter.take() {
            Some(meter) => Ok(meter),
            None => SignalMeter::open(&self.device),
        };
        let measured = meter.and_then(|mut meter| meter.measure().map(|found| (meter, found)));
        let (meter, found) = measured.map_err(SourceError::Wireless)?;
        self.meter = Some(meter);
        Ok(found)
    }
}

impl Source for StationDump {
    fn knows_of_none(&self) -> bool {
        true
    }

    fn poll(&mut self, _now_ns: u64, samples: &mut Vec<Sample>) -> Result<(), SourceError> {
        let stations = self.measure()?.into_iter();
        samples.extend(stations.map(|(mac, snr_db)| Sample::new(Address::Mac(mac), snr_db * 100)));
        Ok(())
    }
}

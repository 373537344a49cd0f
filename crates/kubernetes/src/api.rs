//! Questions to the API do not wait for ever.

use std::{future::Future, time::Duration};

use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(10);

/// Why the API did not do it.
#[derive(Debug, thiserror::Error)]
pub enum Unasked {
    /// It refuses.
    #[error("{0}")]
    Refused(#[from] kube::Error),
    /// It may have done it.
    #[error("the API does not answer")]
    Silent,
}

/// What the API answers, if it does so soon.
pub async fn soon<T>(asked: impl Future<Output = kube::Result<T>>) -> Result<T, Unasked> {
    match timeout(PATIENCE, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Unasked::Silent),
    }
}

//! A bounded cache in memory: the same thing is fetched once, however many ask for it at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

/// Values by name, least recently used out first.
#[derive(Debug)]
pub(super) struct Kept<V> {
    /// Most weight of all values together; a value above it is handed out but not kept.
    limit: u64,
    inner: Mutex<Inner<V>>,
}

#[derive(Debug)]
struct Inner<V> {
    places: HashMap<String, Place<V>>,
    weight: u64,
    clock: u64,
}

#[derive(Debug)]
struct Place<V> {
    value: Arc<OnceCell<V>>,
    /// 0 until the value is there.
    weight: u64,
    used: u64,
}

impl<V: Clone> Kept<V> {
    pub(super) fn new(limit: u64) -> Self {
        let inner = Inner { places: HashMap::new(), weight: 0, clock: 0 };
        Self { limit, inner: Mutex::new(inner) }
    }

    /// The value under `name`, fetched if it is not there. A failure is not kept: whoever else
    /// waits for the same value fetches it in turn.
    pub(super) async fn get<E, F>(&self, name: &str, weigh: impl FnOnce(&V) -> u64, fetch: F) -> Result<V, E>
    where
        F: Future<Output = Result<V, E>>,
    {
        let cell = self.cell(name);
        let value = cell.get_or_try_init(|| fetch).await.cloned();
        match &value {
            Ok(value) => self.settle(name, weigh(value)),
            Err(_) => self.forget_empty(name),
        }
        value
    }

    fn cell(&self, name: &str) -> Arc<OnceCell<V>> {
        let mut inner = self.inner();
        inner.clock += 1;
        let clock = inner.clock;
        let place = inner.places.entry(name.to_owned()).or_insert_with(|| Place {
            value: Arc::new(OnceCell::new()),
            weight: 0,
            used: clock,
        });
        place.used = clock;
        Arc::clone(&place.value)
    }

    fn settle(&self, name: &str, weight: u64) {
        let mut inner = self.inner();
        // It may have been put out, or settled by somebody who waited for the same fetch.
        if let Some(place) = inner.places.get_mut(name).filter(|place| place.weight == 0) {
            place.weight = weight.max(1);
            inner.weight += weight.max(1);
        }
        while inner.weight > self.limit {
            let settled = inner.places.iter().filter(|(_, place)| place.weight > 0);
            let Some(oldest) = settled.min_by_key(|(_, place)| place.used).map(|(name, _)| name.clone()) else { break };
            if let Some(place) = inner.places.remove(&oldest) {
                inner.weight -= place.weight;
            }
        }
    }

    fn forget_empty(&self, name: &str) {
        let mut inner = self.inner();
        if inner.places.get(name).is_some_and(|place| !place.value.initialized()) {
            inner.places.remove(name);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner<V>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    async fn fetched(count: &AtomicU32, value: Result<u64, String>) -> Result<u64, String> {
        count.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        value
    }

    #[tokio::test]
    async fn a_value_is_fetched_once_for_all_who_ask() {
        let (kept, count) = (Kept::new(10), AtomicU32::new(0));
        let get = || kept.get("a", |_| 1, fetched(&count, Ok(7)));
        let (first, second, third) = tokio::join!(get(), get(), get());
        assert_eq!((first, second, third), (Ok(7), Ok(7), Ok(7)));
        assert_eq!(get().await, Ok(7));
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let (kept, count) = (Kept::new(10), AtomicU32::new(0));
        let error = kept.get("a", |_| 1, fetched(&count, Err("away".to_owned()))).await;
        assert_eq!(error, Err("away".to_owned()));
        assert_eq!(kept.get("a", |_| 1, fetched(&count, Ok(7))).await, Ok(7));
    }

    #[tokio::test]
    async fn the_least_recently_used_goes_first_and_the_bound_holds() {
        let (kept, count) = (Kept::new(10), AtomicU32::new(0));
        for name in ["a", "b", "a", "c"] {
            kept.get(name, |_| 4, fetched(&count, Ok(7))).await.unwrap();
        }
        assert_eq!(count.load(Ordering::Relaxed), 3);
        kept.get("a", |_| 4, fetched(&count, Ok(7))).await.unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 3, "a was used after b");
        kept.get("b", |_| 4, fetched(&count, Ok(7))).await.unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 4);
        kept.get("huge", |_| 11, fetched(&count, Ok(7))).await.unwrap();
        assert_eq!(kept.inner().weight, 0);
    }
}

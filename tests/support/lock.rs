//! A cell that tests share with the code that machines run, which may be handed to other threads.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A cell behind a lock. A panic while it is borrowed does not matter: tests look at what is there.
#[derive(Debug, Default)]
pub struct Lock<T>(RwLock<T>);

impl<T> Lock<T> {
    /// A cell with this value.
    pub fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    /// The value, to be read.
    pub fn borrow(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, to be changed.
    pub fn borrow_mut(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        *self.borrow_mut() = value;
    }
}

impl<T: Copy> Lock<T> {
    /// The value.
    pub fn get(&self) -> T {
        *self.borrow()
    }
}

impl<T: Default> Lock<T> {
    /// The value, with the default one in its place.
    pub fn take(&self) -> T {
        std::mem::take(&mut *self.borrow_mut())
    }
}

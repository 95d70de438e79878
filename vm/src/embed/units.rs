//! Units of profile data from Rust, between runs.

use profiler::ProfileData;

use super::Vm;
use crate::safepoint::switch_unit;
use crate::units::{Unit, UnitError};

/// Units of profile data.
impl Vm {
    /// Whether a profile is taken.
    pub fn is_profiled(&self) -> bool {
        self.ctx.profiling.units.is_on()
    }

    /// The unit of profile data that is charged.
    pub fn current_unit(&self) -> Unit {
        self.ctx.profiling.units.current()
    }

    /// Makes an empty unit of profile data. Without a profile, that is the only unit there is.
    pub fn new_unit(&mut self) -> Unit {
        self.ctx.profiling.units.make()
    }

    /// The unit that a program knows by this number.
    ///
    /// # Errors
    /// When there is none, or it was freed.
    pub fn unit(&self, number: u32) -> Result<Unit, UnitError> {
        self.ctx
            .profiling
            .units
            .data(Unit(number))
            .map(|_| Unit(number))
    }

    /// Frees a unit.
    ///
    /// # Errors
    /// When the unit is current, or was freed before.
    pub fn free_unit(&mut self, unit: Unit) -> Result<(), UnitError> {
        self.ctx.profiling.units.free(unit)
    }

    /// Makes a unit current, and gives the one that was. A run that is paused is given up.
    ///
    /// # Errors
    /// When the unit was freed.
    pub fn switch_unit(&mut self, unit: Unit) -> Result<Unit, UnitError> {
        self.give_up();
        // SAFETY: between runs no frame is open.
        unsafe { switch_unit(&mut *self.ctx, std::ptr::null_mut(), unit) }
    }

    /// Does something with a unit current, and switches back whatever comes of it.
    ///
    /// # Errors
    /// When the unit was freed.
    pub fn with_unit<T>(
        &mut self,
        unit: Unit,
        action: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, UnitError> {
        let before = self.switch_unit(unit)?;
        let result = action(self);
        self.switch_unit(before)?;
        Ok(result)
    }

    /// The counts of a unit; `None` when no profile is taken.
    ///
    /// # Errors
    /// When the unit was freed.
    pub fn unit_data(&self, unit: Unit) -> Result<Option<&ProfileData>, UnitError> {
        self.ctx.profiling.units.data(unit)
    }
}

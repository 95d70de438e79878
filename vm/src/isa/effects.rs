//! What ops may do besides writing their outputs and jumping to their targets. Rows of the table
//! say it in words, and whoever wants to know of a kind of op asks for these.

/// A set of effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects(u8);

macro_rules! effects {
    ($($(#[doc = $doc:literal])+ $word:ident = $name:ident: $bit:literal;)+) => {
        impl Effects {
            $( $(#[doc = $doc])+ pub const $name: Self = Self(1 << $bit); )+

            /// Each effect with its word and what that means.
            pub const ALL: &'static [(Self, &'static str, &'static str)] = &[
                $( (Self::$name, stringify!($word), concat!($($doc),+)), )+
            ];
        }

        /// The effect that a word of the table means.
        macro_rules! effect {
            $( ($word) => { $crate::isa::Effects::$name }; )+
        }
    };
}

effects! {
    /// Copies a register or a constant, and nothing else.
    moves = MOVES: 0;
    /// May raise an exception.
    faults = FAULTS: 1;
    /// Makes an object: may collect, and raises a fault where a budget is exceeded.
    allocates = ALLOCATES: 2;
    /// Changes what others may see: an object or a global.
    stores = STORES: 3;
    /// Runs other code, which may do anything.
    calls = CALLS: 4;
    /// Is there for profiles only.
    profiles = PROFILES: 5;
}

impl Effects {
    /// No effect.
    pub const NONE: Self = Self(0);

    /// All of these effects.
    pub(super) const fn of(list: &[Self]) -> Self {
        let mut all = 0;
        let mut index = 0;
        while index < list.len() {
            all |= list[index].0;
            index += 1;
        }
        Self(all)
    }

    /// Whether any of the other effects is among these.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The words for them, in the order of [`Effects::ALL`].
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let all = Self::ALL.iter();
        all.filter(move |(effect, ..)| self.has(*effect))
            .map(|&(_, word, _)| word)
    }
}

pub(super) use effect;

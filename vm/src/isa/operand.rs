//! Operand roles: what an operand is, whether the op reads or writes it, and how it is stored.
//!
//! Each role is a type that owns its encoding. [`Operand`] holds any of them; tools that treat
//! all ops alike (text, checks, generators) work on it, and [`Role`] names the type alone.

use smallvec::SmallVec;

use super::Signature;
use super::decode::{DecodeError, Reader};

/// How a role treats the registers that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The operand names no register.
    None,
    /// The op reads the registers.
    Read,
    /// The op writes the registers, after it has read all it reads.
    Write,
}

/// One operand type: the bytes it stands in and its place in [`Operand`].
pub trait Encoded: Sized {
    /// The role's tag.
    const ROLE: Role;
    /// Appends the operand's bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads the operand's bytes, checking that they are there.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
    /// The operand as a value of the sum type.
    fn to_operand(&self) -> Operand;
    /// The operand out of the sum type, when it is of this role.
    fn from_operand(operand: &Operand) -> Option<Self>;
    /// The registers that the operand names, windows left out.
    fn registers(&self) -> &[u8];
    /// The same, to be replaced.
    fn registers_mut(&mut self) -> &mut [u8];
    /// The targets that the operand names.
    fn targets(&self) -> &[u32];
    /// The same, to be replaced.
    fn targets_mut(&mut self) -> &mut [u32];
}

/// A list of registers of one class; four fit without a heap block.
pub type RegisterList = SmallVec<[u8; 4]>;
/// A jump table: offsets of ops within the function, in bytes.
pub type TargetList = SmallVec<[u32; 4]>;

macro_rules! roles {
    ($( $(#[doc = $doc:literal])+ $name:ident($inner:ty, $access:ident); )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Debug, PartialEq)]
            pub struct $name(pub $inner);

            impl Encoded for $name {
                const ROLE: Role = Role::$name;
                fn encode(&self, out: &mut Vec<u8>) {
                    Raw::put(&self.0, out);
                }
                fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                    Raw::take(reader).map(Self)
                }
                fn to_operand(&self) -> Operand {
                    Operand::$name(self.0.clone())
                }
                fn from_operand(operand: &Operand) -> Option<Self> {
                    match operand {
                        Operand::$name(value) => Some(Self(value.clone())),
                        _ => None,
                    }
                }
                fn registers(&self) -> &[u8] {
                    match Access::$access {
                        Access::None => &[],
                        Access::Read | Access::Write => self.0.bytes(),
                    }
                }
                fn registers_mut(&mut self) -> &mut [u8] {
                    match Access::$access {
                        Access::None => &mut [],
                        Access::Read | Access::Write => self.0.bytes_mut(),
                    }
                }
                fn targets(&self) -> &[u32] {
                    match Role::$name {
                        Role::Target | Role::Targets => self.0.words(),
                        _ => &[],
                    }
                }
                fn targets_mut(&mut self) -> &mut [u32] {
                    match Role::$name {
                        Role::Target | Role::Targets => self.0.words_mut(),
                        _ => &mut [],
                    }
                }
            }
        )+

        /// The name of an operand's type, without a value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Role {
            $( $(#[doc = $doc])+ $name, )+
        }

        impl Role {
            /// How an operand of this role treats the registers it names.
            pub const fn access(self) -> Access {
                match self {
                    $( Role::$name => Access::$access, )+
                }
            }

            /// The role's name and its meaning, for documents.
            pub const fn description(self) -> (&'static str, &'static str) {
                match self {
                    $( Role::$name => (stringify!($name), concat!($($doc),+)), )+
                }
            }
        }

        /// An operand of any role, with its value.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Operand {
            $( $(#[doc = $doc])+ $name($inner), )+
        }

        impl Operand {
            /// The role of the operand.
            pub fn role(&self) -> Role {
                match self {
                    $( Operand::$name(_) => Role::$name, )+
                }
            }
        }
    };
}

roles! {
    /// An `i` register that the op reads.
    IIn(u8, Read);
    /// An `i` register that the op writes.
    IOut(u8, Write);
    /// An `r` register that the op reads.
    RIn(u8, Read);
    /// An `r` register that the op writes.
    ROut(u8, Write);
    /// A list of `i` registers that the op reads.
    IRegs(RegisterList, Read);
    /// A list of `r` registers that the op reads.
    RRegs(RegisterList, Read);
    /// The first `i` register of a call's window.
    IWindow(u8, None);
    /// The first `r` register of a call's window.
    RWindow(u8, None);
    /// A 64-bit integer.
    Int64(i64, None);
    /// A double.
    Float64(f64, None);
    /// A 32-bit integer, sign-extended where 64 bits are wanted.
    Int32(i32, None);
    /// The index of a field.
    Field(u8, None);
    /// A record's tag.
    Tag(u16, None);
    /// The offset of an op within the function, in bytes.
    Target(u32, None);
    /// A jump table.
    Targets(TargetList, None);
    /// The index of a function of the module.
    FuncId(u32, None);
    /// The index of a constant of the module.
    ConstId(u32, None);
    /// The index of a global raw word of the module.
    IntGlobal(u32, None);
    /// The index of a global reference of the module.
    RefGlobal(u32, None);
    /// The index of a host function that the module imports.
    HostId(u32, None);
    /// The index of a profiling source of the module.
    SourceRef(u32, None);
    /// A signature.
    Sig(Signature, None);
}

/// How a value that an operand holds stands in a file: little-endian, lists behind their length.
trait Raw: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
    /// The value as bytes, when it is one or a list of them.
    fn bytes(&self) -> &[u8] {
        &[]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut []
    }
    /// The value as 32-bit words, when it is one or a list of them.
    fn words(&self) -> &[u32] {
        &[]
    }
    fn words_mut(&mut self) -> &mut [u32] {
        &mut []
    }
}

/// A value of this type lends itself as a slice by two methods of [`Raw`].
macro_rules! lends {
    ($item:ty, $shared:ident, $exclusive:ident, $of:path, $of_mut:path) => {
        fn $shared(&self) -> &[$item] {
            $of(self)
        }
        fn $exclusive(&mut self) -> &mut [$item] {
            $of_mut(self)
        }
    };
}

macro_rules! raw_numbers {
    ($($number:ty $(=> $lent:tt)?),+) => { $(
        impl Raw for $number {
            $( lends! $lent; )?
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                reader.array().map(<$number>::from_le_bytes)
            }
        }
    )+ };
}

raw_numbers!(
    u8 => (u8, bytes, bytes_mut, std::slice::from_ref, std::slice::from_mut),
    u32 => (u32, words, words_mut, std::slice::from_ref, std::slice::from_mut),
    u16,
    i32,
    i64,
    f64
);

impl Raw for Signature {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend([
            self.int_params,
            self.ref_params,
            self.int_results,
            self.ref_results,
        ]);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [int_params, ref_params, int_results, ref_results] = reader.array()?;
        Ok(Self {
            int_params,
            ref_params,
            int_results,
            ref_results,
        })
    }
}

impl Raw for RegisterList {
    lends!(u8, bytes, bytes_mut, Self::as_slice, Self::as_mut_slice);
    fn put(&self, out: &mut Vec<u8>) {
        debug_assert!(
            self.len() <= MAX_LIST_REGISTERS,
            "the builder refuses longer lists"
        );
        out.push(self.len() as u8);
        out.extend_from_slice(self);
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [length] = reader.array()?;
        reader.bytes(length as usize).map(Self::from_slice)
    }
}

impl Raw for TargetList {
    lends!(u32, words, words_mut, Self::as_slice, Self::as_mut_slice);
    fn put(&self, out: &mut Vec<u8>) {
        debug_assert!(
            self.len() <= MAX_TARGETS,
            "the builder refuses longer tables"
        );
        (self.len() as u16).put(out);
        for target in self {
            target.put(out);
        }
    }
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let length = u16::take(reader)?;
        (0..length).map(|_| u32::take(reader)).collect()
    }
}

/// The most registers a list operand can name: a byte counts them.
pub const MAX_LIST_REGISTERS: usize = u8::MAX as usize;
/// The most targets a jump table can have: two bytes count them.
pub const MAX_TARGETS: usize = u16::MAX as usize;

//! The values of a session: what names are bound to, and the objects that they lead to.
//!
//! Values live here, not in a machine. An evaluation gets a machine of its own, with copies of the
//! objects that it can reach, and when it has returned the objects are read back: sharing, cycles
//! and stores are kept, and an evaluation that fails changes nothing.

use std::collections::{BTreeMap, HashMap};

use vm::{Datum, ObjectData, ReadBack};

/// What a word of the `i` class, or a reference, is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A 64-bit integer.
    Int,
    /// A double.
    Float,
    /// A reference.
    Ref,
}

impl Kind {
    /// The letter of the kind, as assembly has it.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Int => 'i',
            Self::Float => 'f',
            Self::Ref => 'r',
        }
    }
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// An integer.
    Int(i64),
    /// A double, as its bits.
    Float(u64),
    /// A reference; its object is one of the store's.
    Ref(Datum),
}

impl Value {
    /// What the value is.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Int(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Ref(_) => Kind::Ref,
        }
    }
}

/// All values of a session.
#[derive(Debug, Default)]
pub(crate) struct Store {
    names: BTreeMap<String, Value>,
    /// Closures name their functions by indices into `functions`.
    objects: Vec<ObjectData>,
    functions: Vec<String>,
    /// How many objects were left after the last tidying.
    n_tidied: usize,
}

/// Objects on their way into a machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parcel {
    /// The objects; those asked for come first. Closures name their functions by indices into
    /// `functions`.
    pub(crate) objects: Vec<ObjectData>,
    /// The functions of the closures.
    pub(crate) functions: Vec<String>,
    /// The place of each object in the store.
    places: Vec<u32>,
}

impl Store {
    /// The value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.names.get(name).copied()
    }

    /// Binds a name.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.names.insert(name.to_owned(), value);
        if self.objects.len() > 2 * self.n_tidied + 1024 {
            self.tidy();
        }
    }

    /// Forgets a name; `false` when it was bound to nothing.
    pub(crate) fn forget(&mut self, name: &str) -> bool {
        self.names.remove(name).is_some()
    }

    /// The names with their values, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, Value)> {
        self.names
            .iter()
            .map(|(name, &value)| (name.as_str(), value))
    }

    /// How many objects are kept.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Bytes that the objects take in a machine.
    pub(crate) fn bytes(&self) -> usize {
        self.objects.iter().map(size_bytes).sum()
    }

    /// The objects that can be reached from `roots`, which are objects of the store.
    pub(crate) fn parcel(&self, roots: &[u32]) -> Parcel {
        let mut parcel = Parcel::default();
        let mut indices = HashMap::new();
        let mut functions = HashMap::new();
        let place = |place: u32, places: &mut Vec<u32>, indices: &mut HashMap<u32, u32>| {
            let next = places.len() as u32;
            let index = *indices.entry(place).or_insert(next);
            if index == next {
                places.push(place);
            }
            index
        };
        for &root in roots {
            place(root, &mut parcel.places, &mut indices);
        }
        while let Some(&next) = parcel.places.get(parcel.objects.len()) {
            let mut object = self.objects[next as usize].clone();
            for datum in references(&mut object) {
                if let Datum::Object(target) = datum {
                    *target = place(*target, &mut parcel.places, &mut indices);
                }
            }
            if let ObjectData::Closure { function, .. } = &mut object {
                let known = *function;
                *function = *functions.entry(known).or_insert_with(|| {
                    parcel
                        .functions
                        .push(self.functions[known as usize].clone());
                    parcel.functions.len() as u32 - 1
                });
            }
            parcel.objects.push(object);
        }
        parcel
    }

    /// Takes back what was sent as a parcel, and what is new. Closures name functions that
    /// `name_of` knows. Gives the roots' places.
    pub(crate) fn take_back(
        &mut self,
        parcel: &Parcel,
        read: ReadBack,
        name_of: impl Fn(u32) -> String,
    ) -> Vec<Datum> {
        let first_new = self.objects.len() as u32;
        let n_sent = parcel.places.len() as u32;
        let placed = |datum: Datum| match datum {
            Datum::Object(index) if index < n_sent => Datum::Object(parcel.places[index as usize]),
            Datum::Object(index) => Datum::Object(first_new + index - n_sent),
            other => other,
        };
        for (index, mut object) in read.objects.into_iter().enumerate() {
            references(&mut object).for_each(|datum| *datum = placed(*datum));
            if let ObjectData::Closure { function, .. } = &mut object {
                *function = self.function_id(name_of(*function));
            }
            match parcel.places.get(index) {
                Some(&place) => self.objects[place as usize] = object,
                None => self.objects.push(object),
            }
        }
        read.roots.into_iter().map(placed).collect()
    }

    fn function_id(&mut self, name: String) -> u32 {
        let found = self.functions.iter().position(|known| *known == name);
        found.unwrap_or_else(|| {
            self.functions.push(name);
            self.functions.len() - 1
        }) as u32
    }

    /// The object at a place.
    pub(crate) fn object(&self, place: u32) -> Option<&ObjectData> {
        self.objects.get(place as usize)
    }

    /// The function that a closure names.
    pub(crate) fn function(&self, id: u32) -> &str {
        self.functions.get(id as usize).map_or("?", String::as_str)
    }

    /// Drops the objects that no name leads to.
    pub(crate) fn tidy(&mut self) {
        let roots = |value: &Value| match value {
            Value::Ref(Datum::Object(place)) => Some(*place),
            _ => None,
        };
        let places: Vec<u32> = self.names.values().filter_map(roots).collect();
        let parcel = self.parcel(&places);
        let indices: HashMap<u32, u32> = (0..)
            .zip(&parcel.places)
            .map(|(index, &place)| (place, index))
            .collect();
        for value in self.names.values_mut() {
            if let Value::Ref(Datum::Object(place)) = value {
                *place = indices[place];
            }
        }
        self.objects = parcel.objects;
        self.functions = parcel.functions;
        self.n_tidied = self.objects.len();
    }
}

/// The references of an object.
fn references(object: &mut ObjectData) -> impl Iterator<Item = &mut Datum> {
    let refs = match object {
        ObjectData::Record { refs, .. }
        | ObjectData::Closure { refs, .. }
        | ObjectData::RefArray(refs) => refs.as_mut_slice(),
        ObjectData::Weak(to) => std::slice::from_mut(to),
        _ => &mut [],
    };
    refs.iter_mut()
}

fn size_bytes(object: &ObjectData) -> usize {
    match object {
        ObjectData::Record { refs, ints, .. } => 8 * (1 + refs.len() + ints.len()),
        ObjectData::Closure { refs, ints, .. } => 8 * (2 + refs.len() + ints.len()),
        ObjectData::RefArray(refs) => 16 + 8 * refs.len(),
        ObjectData::IntArray(ints) => 16 + 8 * ints.len(),
        ObjectData::FloatArray(floats) => 16 + 8 * floats.len(),
        ObjectData::ByteArray(bytes) | ObjectData::Text(bytes) => {
            16 + bytes.len().next_multiple_of(8)
        }
        ObjectData::Weak(_) => 16,
    }
}

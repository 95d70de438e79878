//! Strongly connected components, after Tarjan, without recursion: chains of calls may be as long
//! as a program.

/// The components of a graph, each after those that it leads to.
pub(crate) fn of(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let unseen = Place {
        order: usize::MAX,
        low: 0,
        is_open: false,
    };
    let mut search = Search {
        successors,
        places: vec![unseen; successors.len()],
        next_order: 0,
        open: Vec::new(),
        components: Vec::new(),
    };
    for node in 0..successors.len() {
        if search.places[node].order == usize::MAX {
            search.visit(node);
        }
    }
    search.components
}

#[derive(Clone, Copy)]
struct Place {
    /// When the node was met first.
    order: usize,
    /// The earliest open node that it leads to.
    low: usize,
    /// Whether its component is still growing.
    is_open: bool,
}

struct Search<'a> {
    successors: &'a [Vec<usize>],
    places: Vec<Place>,
    next_order: usize,
    open: Vec<usize>,
    components: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn meet(&mut self, node: usize) {
        let order = self.next_order;
        self.places[node] = Place {
            order,
            low: order,
            is_open: true,
        };
        self.next_order += 1;
        self.open.push(node);
    }

    fn visit(&mut self, root: usize) {
        self.meet(root);
        let mut path = vec![(root, 0)];
        while let Some((node, edge)) = path.last_mut() {
            let node = *node;
            if let Some(&next) = self.successors[node].get(*edge) {
                *edge += 1;
                if self.places[next].order == usize::MAX {
                    self.meet(next);
                    path.push((next, 0));
                } else if self.places[next].is_open {
                    self.places[node].low = self.places[node].low.min(self.places[next].order);
                }
                continue;
            }
            path.pop();
            let Place { order, low, .. } = self.places[node];
            if let Some(&(parent, _)) = path.last() {
                self.places[parent].low = self.places[parent].low.min(low);
            }
            if low == order {
                self.close(node);
            }
        }
    }

    /// Takes the nodes from `root` on off the open ones: they are a component.
    fn close(&mut self, root: usize) {
        let start = self
            .open
            .iter()
            .rposition(|&node| node == root)
            .unwrap_or(0);
        let members = self.open.split_off(start);
        members
            .iter()
            .for_each(|&node| self.places[node].is_open = false);
        self.components.push(members);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn cycles_are_one_component_and_come_after_what_they_lead_to() {
        let successors = [vec![1], vec![2, 3], vec![0], vec![4], vec![]];
        let mut components = super::of(&successors);
        components.iter_mut().for_each(|members| members.sort());
        assert_eq!(components, [vec![4], vec![3], vec![0, 1, 2]]);
    }
}

//! Edge colouring by Misra and Gries: hosts are vertices, pairs are edges, and the edges of one colour are a round.
//!
//! A pair takes a colour that both of its hosts have free, where there is one. Otherwise colours around the first host are moved on
//! by a fan: neighbours, each of whose edges has a colour that is free at the neighbour before. At most one colour more than the
//! most edges of one vertex is ever used (Vizing's bound).

use super::Round;
use crate::pairs::{Pair, PairList};

/// No edge.
const NONE: u32 = u32::MAX;

/// The rounds of `pairs`: at most one more than the most pairs of one host. With them the colours and neighbours that were looked
/// at, a count: what a test bounds instead of a time.
pub(super) fn rounds(pairs: &PairList) -> (Vec<Round>, u64) {
    let most = pairs.degrees().into_iter().max().unwrap_or(0);
    let mut graph = Graph::new(pairs, most + 1);
    for edge in 0..pairs.pairs().len() {
        graph.add(edge);
    }
    let mut rounds = vec![Round::new(); most + 1];
    for (&pair, &colour) in pairs.pairs().iter().zip(&graph.colour) {
        rounds[colour].push(pair);
    }
    rounds.retain(|round| !round.is_empty());
    (rounds, graph.steps)
}

/// A graph whose edges are coloured one after the other.
struct Graph<'a> {
    edges: &'a [Pair],
    /// By edge; means nothing before it is coloured.
    colour: Vec<usize>,
    colours: usize,
    /// By vertex and colour: its edge of this colour.
    edge: Vec<u32>,
    /// By vertex: the colours that none of its edges has, a bit for each.
    free: Vec<u64>,
    /// Words of `free` for each vertex.
    words: usize,
    steps: u64,
}

/// A neighbour of the vertex that a fan is around, and the edge that leads there.
#[derive(Clone, Copy)]
struct Blade {
    vertex: usize,
    edge: usize,
}

impl<'a> Graph<'a> {
    fn new(pairs: &'a PairList, colours: usize) -> Self {
        let words = colours.div_ceil(64);
        let mut free = vec![u64::MAX; pairs.hosts() * words];
        let beyond = words * 64 - colours;
        for last in free.iter_mut().skip(words - 1).step_by(words) {
            *last >>= beyond;
        }
        let edges = pairs.pairs();
        let edge = vec![NONE; pairs.hosts() * colours];
        Self { edges, colour: vec![0; edges.len()], colours, edge, free, words, steps: 0 }
    }

    /// The edge of `colour` at `vertex`, with where it leads.
    fn at(&self, vertex: usize, colour: usize) -> Option<Blade> {
        let edge = self.edge[vertex * self.colours + colour];
        let pair = self.edges.get(edge as usize)?;
        Some(Blade { vertex: pair.first + pair.second - vertex, edge: edge as usize })
    }

    /// Gives `edge` a colour that both of its ends have free.
    fn set(&mut self, edge: usize, colour: usize) {
        self.colour[edge] = colour;
        for end in [self.edges[edge].first, self.edges[edge].second] {
            self.edge[end * self.colours + colour] = edge as u32;
            self.free[end * self.words + colour / 64] &= !(1 << (colour % 64));
        }
    }

    /// Takes its colour from `edge`, and tells which that was.
    fn unset(&mut self, edge: usize) -> usize {
        let colour = self.colour[edge];
        for end in [self.edges[edge].first, self.edges[edge].second] {
            self.edge[end * self.colours + colour] = NONE;
            self.free[end * self.words + colour / 64] |= 1 << (colour % 64);
        }
        colour
    }

    fn is_free(&self, vertex: usize, colour: usize) -> bool {
        self.free[vertex * self.words + colour / 64] >> (colour % 64) & 1 == 1
    }

    /// The lowest colour that is free at both.
    fn free_at_both(&mut self, one: usize, other: usize) -> Option<usize> {
        let (one, other) = (one * self.words, other * self.words);
        let word = (0..self.words).find(|word| self.free[one + word] & self.free[other + word] != 0);
        self.steps += word.unwrap_or(self.words) as u64 + 1;
        word.map(|word| word * 64 + (self.free[one + word] & self.free[other + word]).trailing_zeros() as usize)
    }

    /// The lowest colour that is free at `vertex`: there are more colours than edges at any vertex, so there is one.
    fn lowest(&mut self, vertex: usize) -> usize {
        self.free_at_both(vertex, vertex).unwrap_or_default()
    }

    /// Gives `edge` a colour, and others another where it takes that.
    fn add(&mut self, edge: usize) {
        let Pair { first: centre, second: vertex } = self.edges[edge];
        let mut fan = vec![Blade { vertex, edge }];
        loop {
            let last = fan[fan.len() - 1];
            if let Some(colour) = self.free_at_both(centre, last.vertex) {
                return self.rotate(&fan, colour);
            }
            let theirs = self.lowest(last.vertex);
            self.steps += fan.len() as u64;
            match self.at(centre, theirs) {
                Some(next) if fan.iter().all(|blade| blade.edge != next.edge) => fan.push(next),
                _ => {
                    self.invert(centre, theirs);
                    let usable = fan.iter().position(|blade| self.is_free(blade.vertex, theirs));
                    fan.truncate(usable.map_or(fan.len(), |place| place + 1));
                    return self.rotate(&fan, theirs);
                }
            }
        }
    }

    /// Exchanges two colours along the path that leads from `centre` by edges of `theirs` and of one that is free at `centre` in
    /// turn: afterwards `theirs` is free there.
    fn invert(&mut self, centre: usize, theirs: usize) {
        let ours = self.lowest(centre);
        let (mut here, mut colour, mut other) = (centre, theirs, ours);
        let mut path = Vec::new();
        while let Some(next) = self.at(here, colour) {
            path.push(next.edge);
            here = next.vertex;
            (colour, other) = (other, colour);
        }
        self.steps += path.len() as u64;
        for &edge in &path {
            self.unset(edge);
        }
        for edge in path {
            let other = if self.colour[edge] == ours { theirs } else { ours };
            self.set(edge, other);
        }
    }

    /// Moves the colour of each edge of the fan to the edge before it, and gives the last one `colour`.
    fn rotate(&mut self, fan: &[Blade], colour: usize) {
        for blades in fan.windows(2) {
            let moved = self.unset(blades[1].edge);
            self.set(blades[0].edge, moved);
        }
        self.set(fan[fan.len() - 1].edge, colour);
    }
}

// SPDX-License-Identifier: MIT
// Allocations of Rust whose types alloc_types.py knows. All stays live to the end.
use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};
use std::rc::Rc;

#[repr(C)]
#[derive(Clone, Default)]
pub struct Item {
    // 24 bytes, 16 in another order
    kind: u8,
    price: f64,
    count: i32,
}

#[inline(never)]
fn boxed() {
    for _ in 0..10 {
        std::mem::forget(std::hint::black_box(Box::new(Item::default())));
    }
}

#[inline(never)]
fn vector() {
    let mut items: Vec<Item> = Vec::with_capacity(30);
    items.push(Item::default());
    std::mem::forget(std::hint::black_box(items));
}

#[inline(never)]
fn grown() {
    let mut items: Vec<u32> = Vec::new();
    for i in 0..100 {
        items.push(i);
    }
    std::mem::forget(std::hint::black_box(items));
}

#[inline(never)]
fn counted() {
    std::mem::forget(std::hint::black_box(Rc::new(Item::default())));
}

#[inline(never)]
fn text() {
    std::mem::forget(std::hint::black_box(String::from("a text")));
}

#[inline(never)]
fn tree() {
    let mut map: BTreeMap<u32, Item> = BTreeMap::new();
    map.insert(1, Item::default());
    std::mem::forget(std::hint::black_box(map));
}

#[inline(never)]
fn table() {
    let mut map: HashMap<u32, Item> = HashMap::new();
    map.insert(1, Item::default());
    std::mem::forget(std::hint::black_box(map));
}

#[inline(never)]
fn queue() {
    let mut items: VecDeque<Item> = VecDeque::with_capacity(12);
    items.push_back(Item::default());
    std::mem::forget(std::hint::black_box(items));
}

#[inline(never)]
fn chain() {
    let mut items: LinkedList<Item> = LinkedList::new();
    for _ in 0..5 {
        items.push_back(Item::default());
    }
    std::mem::forget(std::hint::black_box(items));
}

fn main() {
    boxed();
    vector();
    grown();
    counted();
    text();
    tree();
    table();
    queue();
    chain();
}

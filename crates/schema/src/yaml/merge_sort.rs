/// Sorts by an order that need not be one: go-yaml's order of keys goes in circles for some, at which the standard
/// library may panic.
pub(super) fn merge_sort<T: Copy>(items: &[T], is_less: &impl Fn(T, T) -> bool) -> Vec<T> {
    if items.len() < 2 {
        return items.to_vec();
    }
    let (left, right) = items.split_at(items.len() / 2);
    let left = merge_sort(left, is_less);
    let right = merge_sort(right, is_less);
    let mut merged = Vec::with_capacity(items.len());
    let (mut left, mut right) = (&*left, &*right);
    while let ([first_left, rest_left @ ..], [first_right, rest_right @ ..]) = (left, right) {
        if is_less(*first_right, *first_left) {
            merged.push(*first_right);
            right = rest_right;
        } else {
            merged.push(*first_left);
            left = rest_left;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    merged
}

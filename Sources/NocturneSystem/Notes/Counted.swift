/// A number with its noun: "1 item", "3 items".
/// - Parameters:
///   - count: not negative.
///   - noun: for one.
///   - plural: for other numbers; nil where it is the noun with an s.
package func counted(_ count: Int, _ noun: String, plural: String? = nil) -> String {
    "\(count) " + (count == 1 ? noun : plural ?? noun + "s")
}

/// The first of some names: "a, b and 3 more".
/// - Parameter most: how many of them are given.
package func listed(_ names: some Collection<String>, most: Int) -> String {
    listed(names.prefix(most), of: names.count)
}

private func listed(_ names: some Collection<String>, of count: Int) -> String {
    names.joined(separator: ", ") + (count > names.count ? " and \(count - names.count) more" : "")
}

/// Names of which there may be a million: counts them, and keeps the first two.
package struct FirstNames: Sendable {
    /// Of all names.
    package private(set) var count = 0
    private var names: [String] = []

    /// No name yet.
    package init() {}

    /// Counts a name.
    package mutating func add(_ name: String) {
        count += 1
        if names.count < 2 { names.append(name) }
    }

    /// Such as "a, b and 3 more".
    package var text: String { listed(names, of: count) }
}

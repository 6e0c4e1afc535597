/// The photos and detected objects of a batch, as `status --newest-first` lists them.
enum PartText {
    private static let mostItems = 20

    /// One line for each photo, with the number of its objects in each state: the first twenty.
    /// - Parameter parts: those of one item follow each other.
    static func lines(_ parts: [StatusReport.Part]) -> [String] {
        var items: [(name: String, parts: [StatusReport.Part])] = []
        for part in parts {
            if items.last?.name != part.item { items.append((part.item, [])) }
            items[items.count - 1].parts.append(part)
        }
        let lines = items.prefix(mostItems).map { "  \($0.name): \(text(of: $0.parts))" }
        return lines
            + (items.count > mostItems ? ["  … and \(items.count - mostItems) more, all of them with --json"] : [])
    }

    private static func text(of parts: [StatusReport.Part]) -> String {
        // Why one has failed is listed with the failures.
        guard parts[0].id != nil else { return parts[0].state }
        let objects = parts.count == 1 ? "1 object" : "\(parts.count) objects"
        let states = Dictionary(grouping: parts, by: \.state).sorted { $0.key < $1.key }
        guard states.count > 1 else { return "\(objects) \(states[0].key)" }
        return "\(objects): " + states.map { "\($0.value.count) \($0.key)" }.joined(separator: ", ")
    }
}

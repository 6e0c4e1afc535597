import NocturneBatch

/// Items that were not completed for the same kind of reason.
struct FailureGroup: Encodable, Equatable {
    let code: String
    let remedy: String
    let count: Int
    /// The first item's reason, as an example.
    let reason: String
    /// Places in the report.
    let items: [Int]

    /// Files that are no inputs last; the most frequent first.
    static func all(_ entries: [BatchReport.Report.Entry]) -> [FailureGroup] {
        var places: [String: [Int]] = [:]
        for (place, entry) in entries.enumerated() {
            if let code = entry.code { places[code, default: []].append(place) }
        }
        return places.map { code, items in
            let first = entries[items[0]]
            return FailureGroup(
                code: code,
                remedy: first.remedy ?? "",
                count: items.count,
                reason: first.reason ?? first.state,
                items: items
            )
        }
        .sorted { a, b in
            func isSkipped(_ group: FailureGroup) -> Int { entries[group.items[0]].state == "skipped" ? 1 : 0 }
            return (isSkipped(a), b.count, a.code) < (isSkipped(b), a.count, b.code)
        }
    }
}

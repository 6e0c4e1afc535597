import NocturneJournal
import NocturneReport

extension ReviewPage {
    /// Items that were not completed for the same kind of reason.
    struct FailureGroup: Encodable, Equatable {
        let code: String
        let remedy: String
        let count: Int
        /// The first item's reason, as an example.
        let reason: String
        /// Places in the report.
        let items: [Int]

        /// Receives the items of a batch one after the other.
        struct Collector {
            private struct Found {
                let first: ReportedItem.Entry
                var places: [Int]
            }

            private var found: [String: Found] = [:]

            mutating func add(_ entry: ReportedItem.Entry, at place: Int) {
                guard let code = entry.code, entry.state != ItemState.completed.rawValue else { return }
                found[code, default: Found(first: entry, places: [])].places.append(place)
            }

            /// The most frequent first; skipped files last.
            func groups() -> [FailureGroup] {
                found.sorted { a, b in
                    func isSkipped(_ found: Found) -> Int { found.first.state == "skipped" ? 1 : 0 }
                    return (isSkipped(a.value), b.value.places.count, a.key)
                        < (isSkipped(b.value), a.value.places.count, b.key)
                }
                .map { code, found in
                    FailureGroup(
                        code: code,
                        remedy: found.first.remedy ?? "",
                        count: found.places.count,
                        reason: found.first.reason ?? found.first.state,
                        items: found.places
                    )
                }
            }
        }
    }
}

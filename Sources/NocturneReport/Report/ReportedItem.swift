package import NocturneJournal
import NocturneOutput
package import NocturneSystem

/// One item as the report shows it.
public struct ReportedItem: Sendable {
    /// In the order of discovery, from 0.
    package let place: Int
    /// As the journal has it, with its path.
    package let item: JournalItem
    /// Of a completed item; names in them are shown as the policy has them.
    package let notes: [Note]
    /// The id of its model; empty for none.
    package let model: String
    /// With measures made from others, without features.
    package let rows: [Statistic]
    /// The rows of ``RadiomicsTable``.
    package let features: [Statistic]
    /// The most unusual first.
    package let unusual: [UnusualValues.Value]
    /// Of the result as it is now.
    package let marks: [ReviewMark]
    /// What other tools have read, by the number of the object.
    package let texts: [Int: ObjectText]
    /// In `batch.json`.
    package let entry: Entry

    /// - Parameter additions: of people and other tools, about the result as it is now; texts by the number of the object.
    init(
        _ record: ItemRecord,
        place: Int,
        model: String,
        unusual: [UnusualValues.Value],
        additions: (marks: [ReviewMark], texts: [Int: ObjectText]),
        names: ShownNames
    ) {
        (item, notes) = (record.item, record.product.notes)
        let measures = record.product.statistics.withoutFeatures
        rows = BatchMeasure.Derived.with(measures.rows)
        features = measures.features
        self.place = place
        self.model = model
        self.unusual = unusual
        (marks, texts) = additions
        entry = Entry(item, notes, unusual, marks, names)
    }

    /// In `batch.json`.
    package struct Entry: Codable, Equatable, Sendable {
        /// A measure that is far from the batch's median, or outside its reference range.
        package struct Unusual: Codable, Equatable, Sendable {
            /// As in `statistics.csv`.
            package let label: String
            /// As in `statistics.csv`.
            package let measure: String
            /// In the measure's unit; null for a label that is missing.
            @Nullable package var value: Double?
            /// The absolute z-score, to two decimal places and at most 99.
            package let score: Double
            /// The fact for people, with the median or the range.
            package let text: String
        }

        /// A reviewer's mark of the result, or of one object in a photo.
        package struct Mark: Codable, Equatable, Sendable {
            /// The name or abbreviation of the person.
            package let rater: String
            /// The number of the object; null for the item as a whole.
            @Nullable package var object: String?
            /// What the person found.
            package let verdict: ReviewVerdict
            /// Empty for none.
            package let comment: String
        }

        /// The name of its folder.
        package let item: String
        /// An item that waits or was interrupted is `notReached`.
        package let state: String
        /// The input, as the policy for names shows it.
        package let source: String
        /// Why it was not completed, or from where its result was taken, or what it has lost; null for other completed items. Code, stage
        /// and remedy are null for completed items, except where a watch has removed files of the result.
        @Nullable package var reason: String?
        @Nullable package var code: String?
        /// Null for reasons outside the stages, such as a request of the user.
        @Nullable package var stage: String?
        @Nullable package var remedy: String?
        package let notes: [String]
        /// Measures that are far from the batch's median, the furthest first. No finding about a patient.
        package let unusual: [Unusual]
        /// In the order of objects and persons, the item as a whole first.
        package let marks: [Mark]
    }
}

extension ReportedItem.Entry {
    fileprivate init(
        _ item: JournalItem,
        _ notes: [Note],
        _ unusual: [UnusualValues.Value],
        _ marks: [ReviewMark],
        _ names: ShownNames
    ) {
        // An item that was never started has no reason, and a code nevertheless.
        let isWhole = item.state == .completed && item.reason?.code != .thinned
        let code: FaultCode? = isWhole ? nil : item.reason?.code ?? .notReached
        self.init(
            item: item.name,
            state: BatchReport.name(of: item.state),
            source: names.shown(item.path),
            reason: item.reason.map { names.shown($0.sentence, of: [item.path]).description },
            code: code?.rawValue,
            stage: item.reason?.stage,
            remedy: code.map(\.remedy),
            // The recipes have done the same to notes, which are in the items' own results, too.
            notes: notes.texts,
            unusual: unusual.map {
                Unusual(
                    label: $0.label,
                    measure: $0.measure,
                    value: $0.value,
                    score: BatchReport.rounded($0.score),
                    text: $0.text
                )
            },
            marks: marks.map {
                Mark(rater: $0.rater, object: $0.object, verdict: $0.verdict, comment: $0.comment)
            }
        )
    }
}

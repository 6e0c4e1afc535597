import Foundation
package import NocturneJournal
package import NocturneOutput
package import NocturneSystem

/// `review.json`: the marks that a reviewer saved from the page.
package struct ReviewFile: Sendable {
    /// One for each verdict or comment that was saved.
    package let marks: [ReviewMark]

    private static let largestFile = 64 << 20
    private static let longestText = 10_000

    /// Reads a file. It is not trusted, because reviewers exchange such files.
    /// - Throws: `BatchError` that names the file and what is wrong with it.
    package static func read(_ path: String) throws(BatchError) -> ReviewFile {
        func refusal(_ detail: String) -> BatchError { BatchError(.inputMissing, path: path, detail: detail) }
        let bytes: [UInt8]
        do throws(FileSystemError) {
            bytes = try FileSystem.read(path, limit: largestFile)
        } catch {
            let detail = error.unreadable("the file of marks \(path)", option: "--import")
            throw BatchError(.inputMissing, path: "", detail: detail)
        }
        let file: ReviewFile
        do throws(JSONFields.Fault) {
            file = try ReviewFile(bytes)
        } catch {
            let fact = EventText.oneLine("\(error.field.isEmpty ? "it" : error.field) \(error.detail)")
            throw refusal("not a file of the review page: \(fact). Give the review.json that it saves")
        }
        // Texts are shown on the page and kept in the journal, so their lengths are limited; a zero byte would end a text of
        // SQLite.
        for mark in file.marks {
            let item = EventText.oneLine(String(mark.item.prefix(80)))
            let texts = [mark.item, mark.rater, mark.comment, mark.fingerprint, mark.time, mark.object ?? ""]
            guard !mark.rater.isEmpty, texts.allSatisfy({ $0.utf8.count <= longestText && !$0.utf8.contains(0) }) else {
                throw refusal(
                    "a mark of \(item) has no rater, or a text that is too long. Save the file again from the "
                        + "review page"
                )
            }
            // By their times it is decided which mark of a person counts.
            guard Date(timestamp: mark.time) != nil else {
                let time = EventText.oneLine(String(mark.time.prefix(80)))
                throw refusal(
                    "the time \"\(time)\" of a mark of \(item) is not a time as 2026-03-01T10:00:00Z (RFC 3339). Save the file "
                        + "again from the review page"
                )
            }
        }
        return file
    }

    /// - Throws: `JSONFields.Fault` for what is not JSON, lacks a member, or has one of another type or version.
    package init(_ bytes: [UInt8]) throws(JSONFields.Fault) {
        // An object that is not given may be null.
        let document = try JSONFields(parsing: bytes, allowsRemarks: true)
        let version = try document.whole("schemaVersion", in: Int.min...Int.max)
        guard version == 1 else {
            throw document.fault("schemaVersion", "is \(version); this version of Nocturne reads 1")
        }
        var marks: [ReviewMark] = []
        for fields in try document.objects("marks") {
            var mark = ReviewMark(
                item: try fields.string("item"),
                fingerprint: try fields.string("fingerprint"),
                object: fields.has("object") ? try fields.string("object") : nil,
                rater: try fields.string("rater"),
                verdict: try fields.choice("verdict"),
                time: try fields.string("time")
            )
            mark.comment = try fields.string("comment")
            marks.append(mark)
        }
        self.marks = marks
    }
}

extension ReviewFile {
    /// What importing a file of marks means for a batch: a pure decision.
    package struct Import: Sendable {
        /// To be recorded in the journal: of each person, item and object the newest of the present result, else of another.
        package private(set) var marks: [ReviewMark] = []
        /// Marks that are older than the recorded ones of the same persons, which stay.
        package private(set) var olderCount = 0
        /// Marks of results that have changed since; they are kept and do not count.
        package private(set) var staleCount = 0
        /// Names that the batch does not have.
        package private(set) var unknownItems: [String] = []

        /// Compares marks with the results and marks of a batch: a mark counts only for the fingerprint that was marked, and in
        /// place of an older one of the same person. One pass over the items, and memory for the marked ones only.
        /// - Parameter recorded: the marks that the batch has.
        package init(_ files: [ReviewFile], items: some Sequence<JournalItem>, recorded: [ReviewMark]) {
            let all = files.flatMap(\.marks)
            let items = items.named(Set(all.map(\.item)))
            var unknown: Set<String> = []
            unknownItems = all.map(\.item).filter { items[$0] == nil && unknown.insert($0).inserted }
            let known = Dictionary(recorded.map { (Self.place(of: $0), $0) }) { $1 }
            let given = all.filter { items[$0.item] != nil }.map { (Self.place(of: $0), $0) }
            func isOlder(_ mark: ReviewMark, than other: ReviewMark) -> Bool {
                // A mark of the present result counts, and one of another result does not.
                let areCurrent = [mark, other].map { $0.fingerprint == items[$0.item]?.fingerprint }
                return areCurrent[0] == areCurrent[1] ? Self.isOlder(mark, than: other) : areCurrent[1]
            }
            let newest = Dictionary(given) { first, next in isOlder(next, than: first) ? first : next }
            for (place, mark) in newest.sorted(by: { $0.key < $1.key }) {
                if let other = known[place], isOlder(mark, than: other) {
                    olderCount += 1
                    continue
                }
                if items[mark.item]?.fingerprint != mark.fingerprint { staleCount += 1 }
                marks.append(mark)
            }
        }

        /// What one person has one mark of.
        private static func place(of mark: ReviewMark) -> String {
            // None of these texts has a zero byte.
            [mark.item, mark.object ?? "", mark.rater].joined(separator: "\0")
        }

        /// By their times.
        private static func isOlder(_ mark: ReviewMark, than other: ReviewMark) -> Bool {
            guard let time = Date(timestamp: mark.time), let known = Date(timestamp: other.time) else { return false }
            return time < known
        }

        /// One line for the terminal.
        package var summary: String {
            let counts = ReviewVerdict.allCases.map { verdict in
                "\(marks.filter { $0.verdict == verdict }.count) \(verdict.rawValue)"
            }
            let raters = Set(marks.map(\.rater)).sorted().joined(separator: ", ")
            var text =
                counted(marks.count, "mark")
                + (marks.isEmpty ? "." : " by \(raters): \(counts.joined(separator: ", ")).")
            if staleCount > 0 {
                let fact = staleCount == 1 ? "is of a result that has" : "are of results that have"
                text += " \(staleCount) \(fact) changed since: not counted."
            }
            if olderCount > 0 {
                let others = olderCount == 1 ? "that of the same person" : "those of the same persons"
                text += " Left out: \(counted(olderCount, "mark")) older than \(others) in the batch."
            }
            if !unknownItems.isEmpty {
                text +=
                    " Left out: \(counted(unknownItems.count, "item")) that this batch does not have, such as \(unknownItems[0])."
            }
            return EventText.oneLine(text)
        }
    }
}

import Foundation
package import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// `review.json`: the marks that a reviewer saved from the page.
package struct ReviewFile: Sendable, Codable {
    /// 1; another number is refused.
    package let schemaVersion: Int
    /// The identifier of the batch, as the page has it.
    package let batch: String
    /// The names of the reviewers, as they entered them.
    package let raters: [String]
    /// One for each verdict or comment that was saved.
    package let marks: [ReviewMark]

    private static let largestFile = 64 << 20
    private static let longestText = 10_000

    /// Reads a file. It is not trusted, because reviewers exchange such files.
    /// - Throws: `BatchError` that names the file and what is wrong with it.
    package static func read(_ path: String) throws(BatchError) -> ReviewFile {
        func refusal(_ detail: String) -> BatchError { BatchError(.inputMissing, path: path, detail: detail) }
        let file: ReviewFile
        do {
            file = try JSONDecoder().decode(
                ReviewFile.self,
                from: Data(try FileSystem.read(path, limit: largestFile))
            )
        } catch let error as FileSystemError {
            throw BatchError(
                .inputMissing,
                path: "",
                detail: error.unreadable("the file of marks \(path)", option: "--import")
            )
        } catch {
            throw refusal("not a file of the review page: \(reason(of: error)). Give the review.json that it saves")
        }
        guard file.schemaVersion == 1 else {
            throw refusal(
                "its schemaVersion is \(file.schemaVersion); this version of Nocturne reads 1. Save it again from the review page"
            )
        }
        // Texts are shown on the page and kept in the journal, so their lengths are limited; a zero byte would end a text of
        // SQLite.
        for mark in file.marks {
            let texts = [mark.item, mark.rater, mark.comment, mark.fingerprint, mark.time, mark.object ?? ""]
            guard !mark.rater.isEmpty, texts.allSatisfy({ $0.utf8.count <= longestText && !$0.utf8.contains(0) }) else {
                throw refusal(
                    "a mark of \(mark.item.prefix(80)) has no rater, or a text that is too long. Save the file again from the "
                        + "review page"
                )
            }
        }
        return file
    }

    private static func reason(of error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, _): "the key \(key.stringValue) is missing"
        case DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty: "it is not valid JSON"
        case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context):
            context.debugDescription
        default: "\(error)"
        }
    }
}

extension ReviewFile {
    /// What importing a file of marks means for a batch: a pure decision.
    package struct Import: Sendable {
        /// To be recorded in the journal.
        package private(set) var marks: [ReviewMark] = []
        /// Marks of results that have changed since; they are kept and do not count.
        package private(set) var staleCount = 0
        /// Names that the batch does not have.
        package private(set) var unknownItems: [String] = []

        /// Compares marks with the results of a batch: a mark counts only for the fingerprint that was marked. One pass
        /// over the items, and memory for the marked ones only.
        package init(_ files: [ReviewFile], items: some Sequence<JournalItem>) {
            let all = files.flatMap(\.marks)
            let items = items.named(Set(all.map(\.item)))
            var unknown: Set<String> = []
            for mark in all {
                guard let fingerprint = items[mark.item]?.fingerprint else {
                    if unknown.insert(mark.item).inserted { unknownItems.append(mark.item) }
                    continue
                }
                if fingerprint != mark.fingerprint { staleCount += 1 }
                marks.append(mark)
            }
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
            if !unknownItems.isEmpty {
                text +=
                    " Left out: \(counted(unknownItems.count, "item")) that this batch does not have, such as \(unknownItems[0])."
            }
            return text
        }
    }
}

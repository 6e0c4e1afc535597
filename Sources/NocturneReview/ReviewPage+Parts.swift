import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem

extension ReviewPage {
    /// The page of a batch that is being written: one file of items after the other, then the file about the batch.
    struct Parts: BatchPageParts {
        let batch: ReportedBatch
        private let reader: ReviewPage.Reader
        private let flag: CancellationFlag
        private let head: ReportText.Head
        private(set) var fileCount = 0
        private var failures = FailureGroup.Collector()
        private var marks: [ReviewMark] = []

        init(_ batch: ReportedBatch, reader: @escaping ReviewPage.Reader, flag: CancellationFlag) {
            self.batch = batch
            self.reader = reader
            self.flag = flag
            head = ReportText.Head(batch.report)
        }

        private var folder: String { batch.output.reviewFolder + "/data" }

        mutating func add(_ items: [ReportedItem]) throws {
            guard !items.isEmpty else { return }
            try flag.check()
            for item in items {
                failures.add(item.entry, at: item.place)
                marks += item.marks
            }
            let signature = ReviewPage.signature(of: items, head)
            try write(ReviewPage.fileName(fileCount), signature) {
                let data = try items.map { item in
                    // Each result is read from the disk, which may be a slow share.
                    try flag.check()
                    return try ReviewPage.Entry(item, in: batch.output, under: head.disclaimer, reader)
                }
                return try ReviewPage.script("nocturneItems", data, prefix: "\(fileCount), ")
            }
            let features = ReviewPage.fileName(fileCount, of: "features")
            if ReviewPage.hasFeatures(batch.report.radiomics), items.contains(where: { !$0.features.isEmpty }) {
                try write(features, signature) {
                    try ReviewPage.script("nocturneFeatures", ReviewPage.Features(items))
                }
            } else if FileSystem.exists(folder + "/" + features) {
                FileSystem.remove(folder + "/" + features)
            }
            writeTimes(of: items)
            fileCount += 1
        }

        /// Leaves a file whose first line has the signature.
        private func write(_ name: String, _ signature: String, _ body: () throws -> [UInt8]) throws {
            let (path, first) = (folder + "/" + name, Array("// \(signature)\n".utf8))
            if (try? FileSystem.read(path).starts(with: first)) == true { return }
            try FileSystem.replace(path, with: first + (try body()), flush: false)
        }

        mutating func finish() throws {
            removeFiles()
            let summary = ReviewPage.Summary(
                batch.report,
                head,
                pages: fileCount,
                failures: failures.groups(),
                marks: marks
            )
            try ReviewPage.replace(folder + "/batch.js", with: try ReviewPage.script("nocturneBatch", summary))
            // Last: what it refers to is there.
            try ReviewPage.replace(batch.output.page, with: ReviewPage.index)
        }

        /// Files of a batch that had more items.
        private func removeFiles() {
            var number = fileCount
            while FileSystem.exists(folder + "/" + ReviewPage.fileName(number)) {
                FileSystem.remove(folder + "/" + ReviewPage.fileName(number))
                FileSystem.remove(folder + "/" + ReviewPage.fileName(number, of: "features"))
                FileSystem.remove(batch.output.times + "/" + ReviewPage.fileName(number))
                number += 1
            }
        }
    }
}

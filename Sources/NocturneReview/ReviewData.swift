import NocturneBatch
import NocturneJournal
import NocturneRecipeSupport
import NocturneSystem

/// The data of the page: functions of the report and of the results.
struct ReviewData {
    private let batch: ReportedBatch
    private let reader: ReviewPage.Reader
    private var report: BatchReport { batch.report }
    private let shown: BatchReport.Report

    init(_ batch: ReportedBatch, reader: @escaping ReviewPage.Reader) {
        self.batch = batch
        self.reader = reader
        shown = batch.report.report
    }

    var fileCount: Int { (report.items.count + ReviewPage.itemsPerFile - 1) / ReviewPage.itemsPerFile }

    private func places(of number: Int) -> Range<Int> {
        let start = number * ReviewPage.itemsPerFile
        return start..<min(start + ReviewPage.itemsPerFile, report.items.count)
    }

    // MARK: The batch

    struct Summary: Encodable {
        struct Model: Encodable {
            let id: String
            let name: String
            let version: String
        }

        struct Spread: Encodable {
            let model: String
            let label: String
            let measure: String
            let unit: String
            let scale: String
            let count: Int
            let median: Double
            let spread: Double
        }

        struct Outlier: Encodable {
            let item: Int
            let label: String
            let measure: String
            @Nullable var value: Double?
            let score: Double
            let text: String
        }

        let schemaVersion: Int
        let batch: String
        let version: String
        let disclaimer: String
        let models: [Model]
        let options: [String: String]
        let counts: BatchCounts
        let pageSize: Int
        let pages: Int
        let review: String
        let failures: [FailureGroup]
        let spreads: [Spread]
        let outliers: [Outlier]
        let marks: [ReviewMark]
    }

    /// The same for every run with these inputs, models and options: under it the page keeps marks.
    private var identifier: String {
        let description = report.description
        let models = description.models.map(\.digest)
        let options = shown.options.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return String(ContentDigest.of((description.inputs + models + options).joined(separator: "\n")).hex.prefix(16))
    }

    var summary: Summary {
        Summary(
            schemaVersion: 1,
            batch: identifier,
            version: shown.version,
            disclaimer: shown.disclaimer,
            models: shown.models.map { Summary.Model(id: $0.id, name: $0.name, version: $0.version) },
            options: shown.options,
            counts: shown.counts,
            pageSize: ReviewPage.itemsPerFile,
            pages: fileCount,
            review: shown.options["review"] ?? "pictures",
            failures: FailureGroup.all(shown.items),
            spreads: report.unusual.distributions.map {
                Summary.Spread(
                    model: $0.model,
                    label: $0.label,
                    measure: $0.measure,
                    unit: $0.unit,
                    scale: $0.scale.rawValue,
                    count: $0.count,
                    median: $0.median,
                    spread: $0.spread
                )
            },
            outliers: report.unusual.values.map {
                Summary.Outlier(
                    item: $0.item,
                    label: $0.label,
                    measure: $0.measure,
                    value: $0.value,
                    score: BatchReport.rounded($0.score),
                    text: $0.text
                )
            },
            marks: report.items.flatMap { report.marks[$0.name] ?? [] }
        )
    }

    // MARK: Items

    struct Entry: Encodable {
        let index: Int
        let item: String
        let state: String
        @Nullable var model: String?
        @Nullable var kind: ReviewParts.Kind?
        let source: String
        @Nullable var code: String?
        @Nullable var reason: String?
        let notes: [String]
        @Nullable var fingerprint: String?
        /// Times differ between runs and are in `run.json`: the page's files are the same for every run.
        @Nullable var seconds: Double?
        let edited: Bool
        @Nullable var thumbnail: String?
        let pictures: [ReviewParts.Picture]
        let measures: [Statistic]
        let labels: [ReviewParts.Label]
        let objects: [ReviewParts.Object]
        @Nullable var volume: String?
        @Nullable var size: [Int]?
    }

    /// Changes whenever something changes that the file shows. Equal fingerprints mean equal results.
    func signature(of number: Int) -> String {
        var digester = ContentDigester()
        digester.update(Array("1 \(shown.version)\n".utf8))
        for place in places(of: number) {
            let (item, entry) = (report.items[place], shown.items[place])
            let texts = [
                "\(place)", item.fingerprint, report.models[place], entry.item, entry.source, entry.state,
                entry.reason ?? "", entry.code ?? "",
            ]
            digester.update(Array((texts + entry.notes).joined(separator: "\n").utf8))
        }
        return digester.finish().hex
    }

    /// - Throws: `FileSystemError` for a result that is there and cannot be read now.
    func entries(of number: Int) throws -> [Entry] { try places(of: number).map(entry) }

    /// Nil for a result that somebody has removed, or that is no file. An error that may pass, as on a share, would leave the
    /// item without its pictures until something else changes.
    private func result(in folder: String) throws -> [UInt8]? {
        do {
            return try FileSystem.read(folder + "/result.json")
        } catch let error where error.isTransient {
            throw error
        } catch {
            return nil
        }
    }

    private func entry(_ place: Int) throws -> Entry {
        let (item, entry) = (report.items[place], shown.items[place])
        let isCompleted = item.state == .completed
        let folder = batch.output.item(item.name)
        let parts = isCompleted ? try result(in: folder).flatMap(reader) : nil
        let compared = Set(BatchMeasure.all.map(\.name))
        return Entry(
            index: place,
            item: entry.item,
            state: entry.state,
            model: item.state == .skipped || report.models[place].isEmpty ? nil : report.models[place],
            kind: parts?.kind,
            source: entry.source,
            code: entry.code,
            reason: entry.reason,
            notes: (parts?.summary.map { [$0] } ?? []) + entry.notes,
            fingerprint: isCompleted ? item.fingerprint : nil,
            seconds: nil,
            edited: parts?.isEdited ?? false,
            thumbnail: parts?.thumbnail,
            pictures: parts?.pictures ?? [],
            measures: report.rows[place].filter { compared.contains($0.measure) },
            labels: parts?.labels ?? [],
            objects: parts?.objects ?? [],
            volume: parts?.volume,
            size: parts?.size
        )
    }
}

import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneReport
import NocturneSystem

/// The data of the page: functions of the report and of the results.
extension ReviewPage {
    struct Summary: Encodable {
        struct Model: Encodable {
            let id: String
            let name: String
            let version: String
        }

        /// How one measure of one label agrees with the references, with the model, of which the page may have several.
        struct Agreement: Encodable {
            let summary: ComparisonSummary

            private enum CodingKeys: CodingKey { case model }

            func encode(to encoder: any Encoder) throws {
                try summary.encode(to: encoder)
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(summary.model, forKey: .model)
            }
        }

        struct NotCompared: Encodable {
            let item: Int
            let reason: String
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
        let spreads: [UnusualValues.Distribution]
        let outliers: [UnusualValues.Value]
        /// That plots can be drawn of, besides the spreads.
        let features: [Feature]
        /// How many there are, or would be.
        let featureCount: Int
        /// Over all compared items.
        let comparison: [Agreement]
        /// How many items could not be compared with their references, and the first of them.
        let notComparedCount: Int
        let notCompared: [NotCompared]
        let marks: [ReviewMark]
    }

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
        let edited: Bool
        @Nullable var thumbnail: String?
        let pictures: [ReviewParts.Picture]
        let measures: [Statistic]
        let labels: [ReviewParts.Label]
        let objects: [ReviewParts.Object]
        @Nullable var facts: String?
        @Nullable var risk: String?
        let documents: [String]
        /// Null where it is the page's.
        @Nullable var disclaimer: String?
        @Nullable var volume: String?
        @Nullable var size: [Int]?
    }

    /// Changes whenever something changes that the file with these items shows. Equal fingerprints mean equal results.
    static func signature(of items: [ReportedItem], _ head: ReportText.Head) -> String {
        var digester = ContentDigester()
        digester.update(Array("1 \(head.version) \(head.disclaimer)\n".utf8))
        for item in items {
            let entry = item.entry
            let texts = [
                "\(item.place)", item.item.fingerprint, item.model, entry.item, entry.source, entry.state,
                entry.reason ?? "", entry.code ?? "",
            ]
            // Sorted, since a dictionary has another order in each run.
            let given = item.texts.sorted { $0.key < $1.key }
                .map { "\($0.key) " + $0.value.fields.map { "\($0.name) \($0.value)" }.joined(separator: " / ") }
            digester.update(Array((texts + entry.notes + given).joined(separator: "\n").utf8))
        }
        return digester.finish().hex
    }
}

extension ReviewPage.Summary {
    init(
        _ report: BatchReport,
        _ head: ReportText.Head,
        pages: Int,
        failures: [ReviewPage.FailureGroup],
        marks: [ReviewMark]
    ) {
        self.init(
            schemaVersion: 1,
            batch: Self.identifier(report.description, head),
            version: head.version,
            disclaimer: head.disclaimer,
            models: head.models.map { Model(id: $0.id, name: $0.name, version: $0.version) },
            options: head.options,
            counts: head.counts,
            // The page finds the file with an item by its index and this number.
            pageSize: BatchReport.itemsPerPart,
            pages: pages,
            review: head.options["review"] ?? "pictures",
            failures: failures,
            spreads: report.unusual.distributions,
            outliers: report.unusual.values.map {
                var value = $0
                value.score = BatchReport.rounded(value.score)
                return value
            },
            features: ReviewPage.Feature.all(of: report.radiomics),
            featureCount: report.radiomics.measures.count,
            comparison: report.comparison.map(Agreement.init),
            notComparedCount: report.remarks.notCompared,
            notCompared: report.notCompared.map { NotCompared(item: $0.place, reason: $0.note) },
            marks: marks
        )
    }

    /// The same for every run with these inputs, models and options: under it the page keeps marks.
    private static func identifier(_ description: BatchDescription, _ head: ReportText.Head) -> String {
        let models = description.models.map(\.digest)
        let options = head.options.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return String(ContentDigest.of((description.inputs + models + options).joined(separator: "\n")).hex.prefix(16))
    }
}

extension ReviewPage.Entry {
    private static let shownMeasures = Set(BatchMeasure.all.map(\.name)).union(ComparisonSummary.measureNames)

    /// - Parameter disclaimer: of the page.
    /// - Throws: `FileSystemError` for a result that is there and cannot be read now.
    init(
        _ item: ReportedItem,
        in output: OutputFolder,
        under disclaimer: String,
        _ reader: ReviewPage.Reader
    ) throws {
        let entry = item.entry
        let isCompleted = item.item.state == .completed
        let folder = output.item(item.item.name)
        // Only a completed item has a result; files of an earlier one may still be there.
        var parts = isCompleted ? try Self.result(in: folder).flatMap(reader) : nil
        // Older results of a watch have lost files that their result still names.
        if item.item.reason?.code == .thinned {
            parts?.removeFiles { FileSystem.kind(folder + "/" + $0) != .file }
        }
        self.init(
            index: item.place,
            item: entry.item,
            state: entry.state,
            model: item.item.state == .skipped || item.model.isEmpty ? nil : item.model,
            kind: parts?.kind,
            source: entry.source,
            code: entry.code,
            reason: entry.reason,
            notes: (parts?.summary.map { [$0] } ?? []) + entry.notes,
            fingerprint: isCompleted ? item.item.fingerprint : nil,
            edited: parts?.isEdited ?? false,
            thumbnail: parts?.thumbnail,
            pictures: parts?.pictures ?? [],
            measures: (item.rows + item.features).filter { Self.shownMeasures.contains($0.measure) },
            labels: parts?.labels ?? [],
            objects: (parts?.objects ?? []).map { $0.with(item.texts) },
            facts: parts?.facts,
            risk: parts?.risk,
            documents: parts?.documents ?? [],
            // Nil where the page has the same one already.
            disclaimer: parts?.disclaimer == disclaimer ? nil : parts?.disclaimer,
            volume: parts?.volume,
            size: parts?.size
        )
    }

    /// Nil for a result that was removed, or that is not a file. A transient error, as on a share, is thrown: the item would
    /// otherwise have no pictures until its content changes.
    private static func result(in folder: String) throws -> [UInt8]? {
        do {
            return try FileSystem.read(folder + "/result.json")
        } catch let error where error.isTransient {
            throw error
        } catch {
            return nil
        }
    }
}

extension ReviewParts.Object {
    /// The object with what the model and another tool have read on it.
    fileprivate func with(_ texts: [Int: ObjectText]) -> ReviewParts.Object {
        let read = fields + (Int(name).flatMap { texts[$0]?.fields } ?? [])
        guard !read.isEmpty else { return self }
        var object = self
        object.text += ": " + read.map(\.value).joined(separator: ", ")
        return object
    }
}

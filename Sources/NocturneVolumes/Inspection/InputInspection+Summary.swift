import NocturneFormats
import NocturneSystem

extension InputInspection {
    /// How many inputs of each kind there are.
    package struct Summary: Encodable, Sendable, Equatable {
        /// A reason that several inputs share: the same text, except for the numbers in it.
        package struct Reason: Encodable, Sendable, Equatable {
            /// Of inputs, from 1.
            package let count: Int
            /// With the numbers of one input where they differ.
            package let text: String
        }

        /// DICOM series and their parts, and NIfTI, NRRD and MetaImage files.
        package let volumes: Int
        /// Files that can be read as photos.
        package let photos: Int
        /// Segmentations and structure sets.
        package let labelObjects: Int
        /// Inputs with a problem, of any kind.
        package let notUsable: Int
        /// The most frequent first.
        package let reasons: [Reason]

        init(_ entries: [Entry]) {
            let usable = entries.filter { $0.problem == nil }
            photos = usable.count { $0.pixels != nil }
            labelObjects = usable.count { $0.labels != nil }
            volumes = usable.count - photos - labelObjects
            notUsable = entries.count - usable.count
            // By the text between numbers and decimal points.
            let groups = Dictionary(grouping: entries.compactMap(\.problem)) { $0.split { $0.isNumber || $0 == "." } }
            reasons = groups.values.map { texts in
                let others = Set(texts).count > 1 ? "; others have other numbers" : ""
                return Reason(count: texts.count, text: (texts.min() ?? "") + others)
            }
            .sorted { ($1.count, $0.text) < ($0.count, $1.text) }
        }

        /// A line for the counts, and one for each reason.
        package var lines: [String] {
            let counts = [
                (volumes, counted(volumes, "volume")), (photos, counted(photos, "photo")),
                (labelObjects, counted(labelObjects, "label object")), (notUsable, "\(notUsable) not usable"),
            ]
            let total = counts.filter { $0.0 > 0 }.map(\.1).joined(separator: ", ")
            return [total.isEmpty ? "no inputs" : total] + reasons.map { "  \($0.count) × \($0.text)" }
        }
    }

    /// A file that is not a volume: a photo, or nothing that is known.
    func photo(_ path: String) -> Entry {
        do {
            let facts = try PhotoReader.readHeader(at: path)
            let name = facts.format.rawValue.uppercased()
            var details = [
                "\(facts.uprightWidth)×\(facts.uprightHeight) pixels, \(facts.colourModel.rawValue), \(facts.bitDepth) bit"
            ]
            let isStack = facts.format == .tiff && facts.pageCount > 1
            if isStack {
                details.append("\(facts.pageCount) pages: slices for models that take TIFFs, else one photo")
            }
            var entry = described(path, isStack ? name : "\(name) photo", nil, details)
            entry.notes = facts.notes.texts
            entry.pixels = [facts.uprightWidth, facts.uprightHeight]
            return entry
        } catch  where error.code == .notAPicture {
            return Entry(
                path: path,
                format: nil,
                problem: OtherFormat(ofFileAt: path)?.rawValue ?? "neither DICOM, NIfTI, NRRD, MetaImage nor a photo"
            )
        } catch {
            return Entry(path: path, format: "photo", problem: error.detail)
        }
    }
}

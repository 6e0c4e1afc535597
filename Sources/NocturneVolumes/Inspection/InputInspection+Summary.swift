import NocturneFormats
import NocturneSystem

extension InputInspection {
    /// How many inputs of each kind there are.
    public struct Summary: Encodable, Sendable, Equatable {
        /// A reason that several inputs share: the same text, except for the numbers in it.
        public struct Reason: Encodable, Sendable, Equatable {
            public let count: Int
            /// Numbers are replaced by `#` where they differ between inputs.
            public let text: String
        }

        /// DICOM series and their parts, and NIfTI, NRRD and MetaImage files.
        public let volumes: Int
        public let photos: Int
        /// Segmentations and structure sets.
        public let labelObjects: Int
        public let notUsable: Int
        /// The most frequent first.
        public let reasons: [Reason]

        init(_ entries: [Entry]) {
            let usable = entries.filter { $0.problem == nil }
            photos = usable.count { $0.pixels != nil }
            labelObjects = usable.count { $0.labels != nil }
            volumes = usable.count - photos - labelObjects
            notUsable = entries.count - usable.count
            let groups = Dictionary(grouping: entries.compactMap(\.problem), by: Self.withoutNumbers)
            reasons = groups.map { key, texts in
                Reason(count: texts.count, text: Set(texts).count == 1 ? texts[0] : key)
            }
            .sorted { ($1.count, $0.text) < ($0.count, $1.text) }
        }

        static func withoutNumbers(_ text: String) -> String {
            var result = ""
            var isInNumber = false
            for character in text {
                // A decimal point or comma inside of a number belongs to it.
                let isNumber = character.isNumber || (isInNumber && ".,".contains(character))
                if !isNumber {
                    result.append(character)
                } else if !isInNumber {
                    result.append("#")
                }
                isInNumber = isNumber
            }
            return result
        }

        /// A line for the counts, and one for each reason.
        public var lines: [String] {
            func number(_ count: Int, _ one: String, _ many: String) -> String? {
                count == 0 ? nil : "\(count) \(count == 1 ? one : many)"
            }
            let counts = [
                number(volumes, "volume", "volumes"), number(photos, "photo", "photos"),
                number(labelObjects, "label object", "label objects"),
                number(notUsable, "not usable", "not usable"),
            ]
            let total = counts.compactMap(\.self).joined(separator: ", ")
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
            let isStack = facts.pageCount > 1
            if isStack {
                details.append("\(facts.pageCount) pages: slices for models that take TIFFs, else one photo")
            }
            var entry = described(path, isStack ? name : "\(name) photo", nil, details)
            entry.notes = facts.notes.texts
            entry.pixels = [facts.uprightWidth, facts.uprightHeight]
            return entry
        } catch  where error.code == .notAPicture {
            return refused(
                path,
                format: nil,
                OtherFormat(ofFileAt: path)?.rawValue ?? "neither DICOM, NIfTI, NRRD, MetaImage nor a photo"
            )
        } catch {
            return refused(path, format: "photo", error.detail)
        }
    }
}

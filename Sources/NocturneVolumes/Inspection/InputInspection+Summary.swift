import NocturneFormats
import NocturneSystem

extension InputInspection {
    /// How many inputs of each kind there are.
    package struct Summary: Encodable, Sendable, Equatable {
        /// A reason that several inputs share: the same text, except for the numbers in it.
        package struct Reason: Encodable, Sendable, Equatable {
            /// Of inputs, from 1.
            package let count: Int
            /// With the range of the one number that differs between inputs, or that of one input where several do.
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
            let groups = Dictionary(grouping: entries.compactMap(\.problem), by: Self.withoutNumbers)
            reasons = groups.map { key, texts in Reason(count: texts.count, text: Self.merged(texts)) }
                .sorted { ($1.count, $0.text) < ($0.count, $1.text) }
        }

        /// What texts have in common that differ in their numbers only.
        private static func withoutNumbers(_ text: String) -> [String] {
            parts(of: text).map { $0.isNumber ? "" : $0.text }
        }

        /// One text for such texts: with the range of the number that differs, or an ellipsis where it is part of a name.
        private static func merged(_ texts: [String]) -> String {
            let all = texts.map(parts)
            let differing = all[0].indices.filter { index in
                all.contains { $0[index].text != all[0][index].text }
            }
            // Two ranges in a sentence do not state which numbers belong together.
            if differing.count > 1, let first = texts.min() { return "\(first); others have other numbers" }
            return all[0].indices.map { index in
                let part = all[0][index]
                let numbers = Set(all.map { $0[index].text }).sorted { (Double($0) ?? 0, $0) < (Double($1) ?? 0, $1) }
                guard part.isNumber, let least = numbers.first, let most = numbers.last, least != most else {
                    return part.text
                }
                let isName = index > 0 && all[0][index - 1].text.last?.isLetter == true
                return isName ? "…" : "\(least) to \(most)"
            }.joined()
        }

        /// A text cut before and after each number.
        private static func parts(of text: String) -> [(text: String, isNumber: Bool)] {
            var parts: [(text: String, isNumber: Bool)] = []
            for (index, character) in zip(text.indices, text) {
                // A decimal point inside of a number belongs to it.
                let next = text.index(after: index)
                let isPoint =
                    character == "." && parts.last?.isNumber == true && next < text.endIndex && text[next].isNumber
                let isNumber = character.isNumber || isPoint
                if let last = parts.indices.last, parts[last].isNumber == isNumber {
                    parts[last].text.append(character)
                } else {
                    parts.append(("\(character)", isNumber))
                }
            }
            return parts
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

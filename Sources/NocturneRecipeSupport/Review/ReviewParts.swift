package import NocturneJournal
package import NocturneSystem

/// What a page for reviewers shows of one result.
package struct ReviewParts: Sendable {
    package struct Picture: Sendable, Encodable {
        /// In the item's folder.
        package let path: String
        /// The alternative text.
        package let alt: String

        package init(path: String, alt: String) {
            self.path = path
            self.alt = alt
        }
    }

    package struct Label: Sendable, Encodable {
        package let value: Int
        package let name: String
        /// `#rrggbb`.
        package let color: String
        /// The file of its surface; nil for none, and for a scene of all labels.
        @Nullable package var mesh: String?

        package init(value: Int, name: String, color: String, mesh: String?) {
            self.value = value
            self.name = name
            self.color = color
            _mesh = Nullable(wrappedValue: mesh)
        }
    }

    /// An object in a photo, or a class that the photo may belong to.
    package struct Object: Sendable, Encodable {
        package let name: String
        @Nullable package var score: Double?
        /// Left, top, width and height in pixels of the upright photo.
        @Nullable package var box: [Int]?
        @Nullable package var picture: String?
        /// Its class, and what else is known of it.
        package var text: String

        package init(name: String, score: Double?, box: [Int]? = nil, picture: String? = nil, text: String) {
            self.name = name
            self.text = text
            _score = Nullable(wrappedValue: score)
            _box = Nullable(wrappedValue: box)
            _picture = Nullable(wrappedValue: picture)
        }
    }

    package enum Kind: String, Sendable, Codable {
        case volume
        case classification
        case instances
    }

    package let kind: Kind
    /// Shown in lists; the first picture unless set.
    package var thumbnail: String?
    package var pictures: [Picture]
    package var labels: [Label] = []
    package var objects: [Object] = []
    /// The file with a volume to look at; nil if none was written.
    package var volume: String?
    /// Width and height of the upright photo; nil for volumes.
    package var size: [Int]?
    /// A statement about the whole result.
    package var summary: String?
    /// Whether a person has edited the result.
    package var isEdited = false

    /// - Parameters:
    ///   - files: of the result.
    ///   - titles: alternative texts by path, in the order in which pictures are shown.
    package init(_ kind: Kind, files: [ItemFile], titles: KeyValuePairs<String, String>) {
        self.kind = kind
        let paths = Set(files.map(\.path))
        pictures = titles.filter { paths.contains($0.key) }.map { Picture(path: $0.key, alt: $0.value) }
        thumbnail = pictures.first?.path
        volume = paths.contains(Self.volumeFile) ? Self.volumeFile : nil
    }

    /// The file of a volume to look at, in the item's folder.
    package static let volumeFile = "review.js"
}

package import NocturneJournal
package import NocturneSystem

/// What a page for reviewers shows of one result.
package struct ReviewParts: Sendable {
    /// A picture in the item's folder.
    package struct Picture: Sendable, Encodable {
        /// In the item's folder.
        package let path: String
        /// The alternative text.
        package let alt: String
    }

    /// A label with its colour and surface.
    package struct Label: Sendable, Encodable {
        /// The value in the label map.
        package let value: Int
        /// For display.
        package let name: String
        /// `#rrggbb`.
        package let color: String
        /// The file of its surface; nil for none, and for a scene of all labels.
        @Nullable package var mesh: String?

        /// - Parameter mesh: the file of its surface; nil for none.
        package init(value: Int, name: String, color: String, mesh: String?) {
            self.value = value
            self.name = name
            self.color = color
            _mesh = Nullable(wrappedValue: mesh)
        }
    }

    /// An object in a photo, or a class that the photo may belong to.
    package struct Object: Sendable, Encodable {
        /// Its number or its class.
        package let name: String
        /// 0...1; null where there is none.
        @Nullable package var score: Double?
        /// Left, top, width and height in pixels of the upright photo.
        @Nullable package var box: [Int]?
        @Nullable package var picture: String?
        /// Its class, and what else is known of it.
        package var text: String
        /// `#rrggbb` of a class; nil for an object.
        package var color: String?
        /// The text on it, which the page adds to ``text``.
        package var fields: [ObjectText.Field] = []

        /// - Parameter box: left, top, width and height in pixels of the upright photo.
        package init(name: String, score: Double?, box: [Int]? = nil, picture: String? = nil, text: String) {
            self.name = name
            self.text = text
            _score = Nullable(wrappedValue: score)
            _box = Nullable(wrappedValue: box)
            _picture = Nullable(wrappedValue: picture)
        }

        private enum CodingKeys: String, CodingKey { case name, score, box, picture, text, color }
    }

    /// How the page shows the result.
    package enum Kind: String, Sendable, Codable {
        case volume
        case classification
        case instances
    }

    /// How the page shows the result.
    package let kind: Kind
    /// Shown in lists; the first picture unless set.
    package var thumbnail: String?
    /// In the order in which they are shown.
    package var pictures: [Picture]
    /// Of a label map.
    package var labels: [Label] = []
    /// Of a photo.
    package var objects: [Object] = []
    /// The file with a volume to look at; nil if none was written.
    package var volume: String?
    /// Width and height of the upright photo; nil for volumes.
    package var size: [Int]?
    /// A statement about the whole result.
    package var summary: String?
    /// The result in one line, for lists: `5 of 5 labels: liver 1510 ml, spleen 214 ml`.
    package var facts: String?
    /// Of a classification whose classes have levels: `low`, `moderate` or `high`.
    package var risk: String?
    /// Files to read besides the pictures, such as a report.
    package var documents: [String] = []
    /// As the result states it.
    package var disclaimer: String?
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

    /// Shows no files that the result has lost.
    /// - Parameter isRemoved: by the path in the item's folder.
    package mutating func removeFiles(where isRemoved: (String) -> Bool) {
        pictures.removeAll { isRemoved($0.path) }
        if thumbnail.map(isRemoved) == true { thumbnail = pictures.first?.path }
        if volume.map(isRemoved) == true { volume = nil }
        for index in labels.indices where labels[index].mesh.map(isRemoved) == true { labels[index].mesh = nil }
        for index in objects.indices where objects[index].picture.map(isRemoved) == true {
            objects[index].picture = nil
        }
    }

    /// The file of a volume to look at, in the item's folder.
    package static let volumeFile = "review.js"
}

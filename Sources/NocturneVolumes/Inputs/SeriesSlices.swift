package import NocturneFormats

/// Where the slices of a series lie in its files. Most series have one slice in each file, in the order of the files: of those
/// only the number is kept, since there may be millions.
package struct SeriesSlices: Codable, Sendable, Hashable {
    /// One slice: the index of its file, and its frame in that file.
    package struct Slice: Codable, Sendable, Hashable {
        /// Among the files of the series, from 0.
        package var file: Int
        /// From 0.
        package var frame = 0
        /// The origin of a mosaic's tile, in pixels.
        package var x = 0
        /// The same from the top.
        package var y = 0

        /// The first frame of a file, from its first pixel.
        package init(file: Int) { self.file = file }

        /// A slice as the reader names it, in a file by its index.
        package init(_ name: DICOMSlice.Name, file: Int) {
            self.file = file
            frame = name.frame
            x = name.x
            y = name.y
        }

        /// Encodes numbers only: the journal has one line per item, with up to thousands of slices.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            for number in [file, frame, x, y] { try container.encode(number) }
        }

        /// Reads the four numbers that ``encode(to:)`` writes.
        package init(from decoder: any Decoder) throws {
            // In the order of `encode(to:)`.
            var container = try decoder.unkeyedContainer()
            file = try container.decode(Int.self)
            frame = try container.decode(Int.self)
            x = try container.decode(Int.self)
            y = try container.decode(Int.self)
        }
    }

    private enum Form: Hashable {
        case oneInEachFile(count: Int)
        case listed([Slice])
    }

    private let form: Form

    private init(form: Form) { self.form = form }

    /// - Parameter slices: in the order of the volume.
    package init(_ slices: [Slice]) {
        let isPlain = slices.enumerated().allSatisfy { $0.element == Slice(file: $0.offset) }
        form = isPlain ? .oneInEachFile(count: slices.count) : .listed(slices)
    }

    /// - Parameters:
    ///   - names: the slices in order. Those of other files are left out.
    ///   - files: the paths of the files.
    package init(_ names: [DICOMSlice.Name], files: [String]) {
        let places = Dictionary(uniqueKeysWithValues: zip(files, files.indices))
        self.init(names.compactMap { name in places[name.path].map { Slice(name, file: $0) } })
    }

    /// All slices in order.
    /// - Parameter files: the number of files.
    /// - Returns: nil when there are fewer files than the slices lie in.
    package func all(in files: Int) -> [Slice]? {
        switch form {
        case .oneInEachFile(let count): (0...files).contains(count) ? (0..<count).map(Slice.init) : nil
        case .listed(let slices): slices.allSatisfy { (0..<files).contains($0.file) } ? slices : nil
        }
    }

    /// The largest origin of a mosaic's tile, in pixels.
    package var largestOrigin: (x: Int, y: Int) {
        guard case .listed(let slices) = form else { return (0, 0) }
        return (slices.map(\.x).max() ?? 0, slices.map(\.y).max() ?? 0)
    }

    /// A number, or a list of slices.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch form {
        case .oneInEachFile(let count): try container.encode(count)
        case .listed(let slices): try container.encode(slices)
        }
    }

    /// Reads both forms.
    package init(from decoder: any Decoder) throws {
        // A number stands for as many files with one slice each.
        let container = try decoder.singleValueContainer()
        if let count = try? container.decode(Int.self) {
            self.init(form: .oneInEachFile(count: count))
        } else {
            self.init(try container.decode([Slice].self))
        }
    }
}

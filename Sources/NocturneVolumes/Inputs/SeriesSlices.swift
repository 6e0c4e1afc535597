import NocturneFormats

/// Where the slices of a series lie in its files. Most series have one slice in each file, in the order of the files: of those
/// only the number is kept, since there may be millions.
struct SeriesSlices: Sendable {
    private enum Form {
        case oneInEachFile(count: Int)
        case listed([VolumeSource.Slice])
    }

    private let form: Form

    /// - Parameters:
    ///   - names: the slices in order. Those of other files are left out.
    ///   - files: the paths of the files.
    init(_ names: [DICOMSliceName], files: [String]) {
        let places = Dictionary(uniqueKeysWithValues: zip(files, files.indices))
        let slices = names.compactMap { name in places[name.path].map { VolumeSource.Slice(name, file: $0) } }
        form = slices == Self.oneInEachFile(slices.count) ? .oneInEachFile(count: slices.count) : .listed(slices)
    }

    var slices: [VolumeSource.Slice] {
        switch form {
        case .oneInEachFile(let count): Self.oneInEachFile(count)
        case .listed(let slices): slices
        }
    }

    private static func oneInEachFile(_ count: Int) -> [VolumeSource.Slice] {
        (0..<count).map { VolumeSource.Slice(file: $0, frame: 0, x: 0, y: 0) }
    }
}

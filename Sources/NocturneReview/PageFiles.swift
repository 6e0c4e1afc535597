internal import CReviewPage

/// The files of the page, which are part of the program.
extension ReviewPage {
    /// `index.html`.
    static let index = files[0].bytes

    /// All others, by their names in `review/`.
    static let scripts = Array(files.dropFirst())

    private static let files: [(name: String, bytes: [UInt8])] = {
        var count = 0
        let files = creviewpage_files(&count)
        return UnsafeBufferPointer(start: files, count: count).map { file in
            (String(cString: file.name), Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
        }
    }()
}

import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneJournal
package import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// What a photo recipe stores in the journal to locate a picture again and to plan for it without decoding it.
package struct PhotoRecord: ItemSource {
    /// The id of the model package.
    var model: String
    var path: String
    /// The path relative to the input as given: the only location that a result may contain.
    var name: String
    /// In pixels, upright and as decoded.
    var width: Int
    var height: Int
    /// Peak memory of decoding, including the picture if it is decoded as a whole.
    var decodingBytes: Int
    /// How results show names of inputs.
    package var identifiers: IdentifierPolicy?
    /// Words of its path that identify its patient; nil for none.
    package var words: [String]?

    /// The photo alone.
    package var namedFiles: [String] { [path] }

    /// - Parameter inBands: whether the picture is read in bands, which takes less memory.
    init(
        model: String,
        _ scanned: PhotoDiscovery.ScannedFile,
        facts: PhotoFacts,
        inBands: Bool = false,
        identifiers: IdentifierPolicy
    ) {
        self.model = model
        path = scanned.file.path
        name = scanned.names(identifiers).shown(scanned.file.name)
        self.identifiers = identifiers
        words = scanned.words.isEmpty ? nil : scanned.words
        width = facts.uprightWidth
        height = facts.uprightHeight
        decodingBytes = inBands ? facts.predictedBandBytes : facts.predictedBytes
    }

    /// Decodes the picture.
    /// - Throws: `PhotoError`, also for a picture that has got another size; `CancelledError`.
    func read(_ limits: PhotoLimits, flag: CancellationFlag) throws -> Photo {
        let photo = try PhotoReader.read(at: path, limits: limits, flag: flag)
        guard photo.image.width == width, photo.image.height == height else {
            throw PhotoError(.corrupt, path: path, "changed since it was found")
        }
        return photo
    }

    /// The picture, upright, 3 bytes per pixel, and what decoding takes besides.
    var buffers: [PlannedBuffer] {
        let picture = width * height * 3
        return [
            PlannedBuffer("picture", bytes: picture, from: .load, through: .write),
            PlannedBuffer("decoder", bytes: max(decodingBytes - picture, 0), in: .load),
        ]
    }

    /// The file name without its extension, in portable characters.
    var stem: String {
        let file = name.split(separator: "/").last.map(String.init) ?? name
        let stem = file.lastIndex(of: ".").map { $0 > file.startIndex ? String(file[..<$0]) : file } ?? file
        var safe = String(
            stem.map { $0.isLetter || $0.isNumber || "._-@+=".contains($0) ? $0 : "_" }
        )
        while safe.hasPrefix(".") || safe.hasPrefix("-") { safe.removeFirst() }
        while safe.utf8.count > 120 { safe.removeLast() }
        return safe.isEmpty ? "photo" : safe
    }
}

/// A decoded picture, upright.
package struct LoadedPhoto: Sendable {
    let record: PhotoRecord
    let photo: Photo
}

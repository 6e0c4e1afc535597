package import NocturneBatch
import NocturneFormats
public import NocturneRecipeSupport

/// What a photo recipe keeps in the journal to find a picture again and to plan for it without decoding it.
public struct PhotoRecord: ItemSource {
    /// The id of the model package.
    var model: String
    var path: String
    /// The path below the input that was named: what a result may say of where it came from.
    var name: String
    /// In pixels, upright and as it will be decoded.
    var width: Int
    var height: Int
    /// What decoding holds at its peak, the picture counted where it is decoded whole.
    var decodingBytes: Int
    package var identifiers: IdentifierPolicy?

    package var namedFiles: [String] { [path] }

    /// - Parameter inBands: whether the picture is read in bands, which holds less.
    init(
        model: String,
        path: String,
        name: String,
        facts: PhotoFacts,
        inBands: Bool = false,
        identifiers: IdentifierPolicy
    ) {
        self.model = model
        self.path = path
        self.name = name
        self.identifiers = identifiers
        width = facts.uprightWidth
        height = facts.uprightHeight
        decodingBytes = inBands ? facts.predictedBandBytes : facts.predictedBytes
    }

    /// Decoded, upright, 3 bytes a pixel.
    var pictureBytes: Int { width * height * 3 }

    /// The file's name without its ending, in characters that every file system takes.
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

/// A photo that cannot be worked on, found out while it was.
struct PhotoSourceError: Error, CustomStringConvertible {
    let path: String
    let detail: String
    var description: String { "\(path): \(detail)" }
}

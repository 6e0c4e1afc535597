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

extension PhotoFacts {
    /// All notes about the photo: those of its reader, and what is done to it that other readers may not do.
    /// - Parameter takesColours: whether the networks take red, green and blue, or grey.
    func allNotes(takesColours: Bool = true) -> [Note] {
        var notes = notes
        // The photo as it was stored: once decoded, all photos have three channels.
        let isGrey = colourModel == .grey || colourModel == .greyAlpha
        if !takesColours, !isGrey {
            notes.append(
                Note(
                    "photo.madeGrey",
                    "the photo is in colour, the networks take grey: 0.299 red + 0.587 green + 0.114 blue"
                )
            )
        }
        if takesColours, isGrey {
            notes.append(
                Note(
                    "photo.madeColour",
                    "the photo is grey, the networks take colours: red, green and blue are equal"
                )
            )
        }
        if colourModel == .cmyk || colourModel == .ycck {
            notes.append(
                Note("photo.fromCMYK", "the photo is in CMYK: its colours were converted without its colour profile")
            )
        }
        // Grey of DICOM goes through a window or is stretched, and of a palette the indices have these bits.
        if bitDepth > 8, colourModel != .palette, !(format == .dicom && isGrey) {
            notes.append(
                Note("photo.deep", "the photo has \(bitDepth) bits a sample, of which the highest 8 were used")
            )
        }
        return notes
    }
}

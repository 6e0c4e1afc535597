import Foundation
public import NocturneSystem

/// The spacing of a TIFF, which has no field for it: nnU-Net's convention is a JSON file next to the images of a case,
/// `<case>.json` for `<case>_0000.tif`, with the member `spacing`.
public enum TIFFSpacing {
    /// More than any such file has.
    private static let maximumBytes = 1 << 20

    private struct Document: Decodable { let spacing: [Double] }

    /// The path of the file next to an image: without the channel number and the extension, and with `.json`.
    public static func sideFile(of image: String) -> String {
        let folder = image.lastIndex(of: "/").map { image[...$0] } ?? ""
        var name = image.dropFirst(folder.count)
        if let dot = name.lastIndex(of: ".") { name = name[..<dot] }
        let number = name.suffix(5)
        let isChannel =
            number.count == 5 && number.first == "_" && number.dropFirst().allSatisfy { ("0"..."9").contains($0) }
        return folder + (isChannel && name.count > 5 ? name.dropLast(5) : name) + ".json"
    }

    /// Reads the spacing.
    /// - Returns: in mm along columns, rows and pages; the file has the opposite order.
    /// - Throws: ``TIFFStackError`` with the code `invalidSpacing`, or with the system's code.
    public static func read(at path: String) throws(TIFFStackError) -> SIMD3<Double> {
        let bytes: [UInt8]
        do {
            bytes = try FileSystem.read(path, limit: maximumBytes)
        } catch {
            throw TIFFStackError(
                .invalidSpacing,
                path: path,
                "the file with the spacing \(error.detail)",
                systemCode: error.isNotRegularFile ? nil : error.code
            )
        }
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(bytes)) else {
            throw TIFFStackError(.invalidSpacing, path: path, "is not a JSON file with the numbers \"spacing\"")
        }
        let spacing = document.spacing
        // Wide enough for every unit that somebody may have meant; numbers outside are damage.
        guard spacing.count == 3, spacing.allSatisfy({ $0.isFinite && $0 >= 1e-9 && $0 <= 1e9 }) else {
            throw TIFFStackError(
                .invalidSpacing,
                path: path,
                "spacing is \(spacing.prefix(4)); expected three numbers above 0, along pages, rows and columns"
            )
        }
        return SIMD3(spacing[2], spacing[1], spacing[0])
    }

    /// The content of such a file.
    /// - Parameter spacing: in mm along columns, rows and pages.
    public static func document(_ spacing: SIMD3<Double>) -> [UInt8] {
        let numbers = [spacing.z, spacing.y, spacing.x].map { "\($0)" }.joined(separator: ", ")
        return Array("{\n    \"spacing\": [\(numbers)]\n}\n".utf8)
    }
}

public import Foundation

/// The checkout's own small test files.
public enum Fixtures {
    /// `Tests/Fixtures`, found from this source file.
    public static var folder: URL {
        Checkout.folder.appendingPathComponent("Tests/Fixtures", isDirectory: true)
    }

    public static func url(_ relativePath: String) -> URL { folder.appendingPathComponent(relativePath) }

    public static func bytes(_ relativePath: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: url(relativePath)))
    }

    /// Copies a package of one network to a folder, with a text of its description replaced.
    public static func copyModel(
        _ relativePath: String,
        to folder: URL,
        replacing old: String,
        with new: String
    ) throws {
        let source = url(relativePath)
        let text = try String(contentsOf: source.appendingPathComponent("model.json"), encoding: .utf8)
        guard text.contains(old) else { throw CocoaError(.fileReadCorruptFile, userInfo: [NSFilePathErrorKey: old]) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let changed = Data(text.replacingOccurrences(of: old, with: new).utf8)
        try changed.write(to: folder.appendingPathComponent("model.json"))
        try FileManager.default.copyItem(
            at: source.appendingPathComponent("network.onnx"),
            to: folder.appendingPathComponent("network.onnx")
        )
    }
}

/// The larger files beside the checkout, which need not be there.
public enum SharedData {
    /// `../shared/data` beside the checkout; nil, with a printed notice, when it is missing.
    public static var folder: URL? {
        let url = Checkout.folder.deletingLastPathComponent().appendingPathComponent("shared/data", isDirectory: true)
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue { return url }
        print("notice: no shared/data beside the checkout, what needs it is skipped")
        return nil
    }

    /// A file or folder in it; nil, with a printed notice, when it is missing.
    public static func url(_ relativePath: String) -> URL? {
        guard let folder else { return nil }
        let url = folder.appendingPathComponent(relativePath)
        if FileManager.default.fileExists(atPath: url.path) { return url }
        print("notice: \(relativePath) is not in shared/data, what needs it is skipped")
        return nil
    }
}

/// The folder that holds `Package.swift`.
public enum Checkout {
    public static var folder: URL {
        // The package may have been reached through a link, and `#filePath` then names the link.
        URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    }
}

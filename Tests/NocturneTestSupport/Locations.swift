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

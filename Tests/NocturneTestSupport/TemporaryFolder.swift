public import Foundation
import NocturneSystem

/// A fresh folder under the system's temporary folder, removed with the last reference.
public final class TemporaryFolder: Sendable {
    public let url: URL

    public init(_ name: String = "nocturne-test") throws {
        url = URL(fileURLWithPath: NSTemporaryDirectory(), isDirectory: true)
            .appendingPathComponent("\(name)-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    public var path: String { url.path }

    /// The place of `relativePath` inside; nothing is made.
    public func callAsFunction(_ relativePath: String) -> URL { url.appendingPathComponent(relativePath) }

    /// Writes a file, with the folders above it, and returns its place. Foundation's `Data.write` would wait for the disk each time.
    @discardableResult
    public func write(_ bytes: [UInt8], to relativePath: String) throws -> URL {
        let place = self(relativePath)
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try FileSystem.write(place.path, bytes)
        return place
    }

    /// Writes a file, with the folders above it, and returns its place.
    @discardableResult
    public func write(_ text: String, to relativePath: String) throws -> URL {
        try write(Array(text.utf8), to: relativePath)
    }

    /// Makes a folder, calls `body` with it, and removes it whatever happens.
    public static func with<R>(_ name: String = "nocturne-test", _ body: (TemporaryFolder) throws -> R) throws -> R {
        let folder = try TemporaryFolder(name)
        return try withExtendedLifetime(folder) { try body(folder) }
    }

    /// Makes a folder, calls `body` with it, and removes it whatever happens.
    public static func with<R>(
        _ name: String = "nocturne-test",
        _ body: (TemporaryFolder) async throws -> R
    ) async throws -> R {
        let folder = try TemporaryFolder(name)
        defer { withExtendedLifetime(folder) {} }
        return try await body(folder)
    }
}

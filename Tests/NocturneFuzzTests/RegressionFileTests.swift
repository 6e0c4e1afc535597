import Foundation
import NocturneFuzz
import Testing

@Suite("Files that fuzzing found, and seeds")
struct RegressionFileTests {
    private static let fixtures = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/Fuzz")

    /// Reading is all that is asked for: a crash ends the process, and a hang the patience of who runs the tests.
    @Test("every file of Fixtures/Fuzz, whole and cut short, is read or refused", arguments: FuzzTarget.allCases)
    func files(target: FuzzTarget) throws {
        let folder = RegressionFileTests.fixtures.appendingPathComponent(target.rawValue)
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        #expect(!files.isEmpty, "no file for \(target.rawValue)")
        for file in files.sorted(by: { $0.path < $1.path }) {
            let bytes = [UInt8](try Data(contentsOf: file))
            for length in Set([0, bytes.count / 2, max(bytes.count - 1, 0), bytes.count]).sorted() {
                bytes[..<length].withUnsafeBytes { _ = target.run($0) }
            }
        }
    }
}

import Foundation
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The output folder")
struct OutputFolderTests {
    @Test("A path that is too long for the journal is refused before anything is made")
    func tooLong() throws {
        let folder = try TemporaryFolder("output")
        var path = folder("out").path
        while path.utf8.count < 430 { path += "/" + String(repeating: "d", count: 40) }
        // 504 bytes less "/.nocturne/journal.sqlite".
        path += String(repeating: "x", count: 479 - path.utf8.count + 1)
        #expect { try OutputFolder(path).create() } throws: {
            "\($0)".hasSuffix("is 1 byte too long for a batch. Choose a shorter one with --output")
        }
        #expect(FileSystem.kind(folder("out").path) == .nothing)
        try OutputFolder(String(path.dropLast())).create()
    }
}

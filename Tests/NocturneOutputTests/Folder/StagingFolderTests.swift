import Foundation
import Glibc
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The folder in which results are prepared")
struct StagingFolderTests {
    private func text(_ path: String, _ folder: TemporaryFolder) throws -> String {
        try String(contentsOf: folder(path), encoding: .utf8)
    }

    @Test("It is the recorded one, or a new one when the output folder was taken over")
    func names() {
        #expect(OutputFolder.stagingName(recorded: nil, takenOver: nil) == "staging")
        #expect(OutputFolder.stagingName(recorded: "staging-3", takenOver: nil) == "staging-3")
        #expect(OutputFolder.stagingName(recorded: "staging-3", takenOver: 7) == "staging-7")
    }

    @Test("In an output folder that a group shares, results are made with the group", arguments: [false, true])
    func group(isSharedLater: Bool) throws {
        let folder = try TemporaryFolder("staging")
        let output = OutputFolder(folder("out").path)
        try FileSystem.makeFolder(output.path)
        if isSharedLater { try output.create() }
        #expect(chmod(output.path, 0o2770) == 0)
        try output.create()
        try output.prepareStaging(before: "staging")
        try FileSystem.makeFolder(output.staging("a"))
        func mode(_ path: String) -> mode_t {
            var status = stat()
            #expect(lstat(path, &status) == 0)
            return status.st_mode & 0o7777
        }
        for path in [output.hidden, output.staging] { #expect(mode(path) == 0o2700) }
        #expect(mode(output.staging("a")) & 0o2000 == 0o2000)
    }

    @Test("A run that takes over has the checkpoints in files of its own, without parts of results")
    func takenOver() throws {
        let folder = try TemporaryFolder("staging")
        var output = OutputFolder(folder("out").path)
        try output.create()
        try folder.write("labels", to: "out/.nocturne/staging/a/labels0.u16")
        try folder.write("half", to: "out/.nocturne/staging/a/result/result.json")
        try folder.write("x", to: "out/.nocturne/staging/file")
        let late = try #require(FileHandle(forWritingAtPath: output.staging + "/a/labels0.u16"))
        output.stagingName = "staging-2"
        try output.prepareStaging(before: "staging")
        #expect(FileSystem.entries(output.hidden) == ["staging-2"])
        #expect(FileSystem.entries(output.staging) == ["a"])
        #expect(FileSystem.entries(output.staging("a")) == ["labels0.u16"])
        // What the run before still writes is in no file that counts.
        try late.write(contentsOf: Data("LABELS".utf8))
        #expect(try text("out/.nocturne/staging-2/a/labels0.u16", folder) == "labels")

        // The next run finds it as it is, and removes what the run before has made since.
        try folder.write("late", to: "out/.nocturne/staging/b/labels0.u16")
        try output.prepareStaging(before: "staging-2")
        #expect(FileSystem.entries(output.hidden) == ["staging-2"])
        #expect(try text("out/.nocturne/staging-2/a/labels0.u16", folder) == "labels")
    }
}

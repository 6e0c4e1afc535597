import Foundation
import Glibc
import NocturneReport
import NocturneTestSupport
import Testing

@Suite("Files that a verification does not find")
struct AbsentFileTests {
    @Test("are missing, or this user cannot look there")
    func absence() throws {
        let folder = try TemporaryFolder("absence")
        try folder.write("text", to: "closed/file")
        #expect(BatchVerification.absence(of: folder("missing/file").path) == "is missing")
        #expect(BatchVerification.absence(of: folder("closed/file/part").path) == "is missing")
        let long = folder(String(repeating: "n", count: 300)).path
        #expect(BatchVerification.absence(of: long) == "cannot be read: File name too long")
        // Root may look anywhere.
        guard geteuid() != 0 else { return }
        #expect(chmod(folder("closed").path, 0) == 0)
        #expect(BatchVerification.absence(of: folder("closed/file").path) == "cannot be read: Permission denied")
        #expect(chmod(folder("closed").path, 0o700) == 0)
    }
}

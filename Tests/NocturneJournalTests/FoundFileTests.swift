import Foundation
import NocturneJournal
import NocturneTestSupport
import Testing

@Suite("Files found in the inputs")
struct FoundFileTests {
    @Test(
        "have the folders and names of their paths",
        arguments: [
            ("/in/a/b.nii", "a/b.nii", "in"), ("/in/b.nii", "b.nii", "in"), ("b.nii", "b.nii", ""), ("/b", "b", ""),
            ("/in/a/e\u{301} 日.dcm", "a/e\u{301} 日.dcm", "in"), ("/images/x_0000.nii", "other", "r"),
        ]
    )
    func parts(path: String, name: String, root: String) {
        let file = FoundFile(path: path, name: name, root: root)
        let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        #expect(file.fileName.utf8.elementsEqual(path[start...].utf8))
        #expect(file.folderPath == String(path[..<start].dropLast()))
        let neighbour = file.neighbour(at: file.folderPath + "/x")
        #expect(neighbour.name == (name.contains("/") ? "a/x" : "x") && neighbour.folderName == file.folderName)
    }

    @Test("are recorded once each; names that differ only in their Unicode form are given back")
    func recording() throws {
        let table = try FoundTable()
        func walked(_ path: String, _ inode: UInt64) -> FoundTable.WalkedFile {
            let file = FoundFile(path: path, name: String(path.dropFirst(4)), root: "in")
            return (file, FileIdentity(device: 1, inode: inode))
        }
        let equivalent = try table.add([
            walked("/in/\u{e9}.nii", 1), walked("/in/e\u{301}.nii", 2), walked("/in/a.nii", 3), walked("/in/a.nii", 3),
        ])
        #expect(equivalent.map(\.path.utf8.count) == ["/in/e\u{301}.nii".utf8.count])
        try table.addListed([
            FoundFile(path: "/in/a.nii", name: "again", root: "in"), FoundFile(path: "/in/z", name: "z", root: "in"),
        ])
        var names: [String] = []
        try table.forEachFile { names += $0.map(\.file.name) }
        #expect(names == ["\u{e9}.nii", "a.nii", "z"])
        #expect(try table.containsFile("/in/e\u{301}.nii") && !table.containsFile("/in/z"))
        #expect(try table.contains(identity: FileIdentity(device: 1, inode: 3)))
        #expect(try !table.contains(identity: FileIdentity(device: 2, inode: 3)))
        #expect(try table.containsFile(beginning: "/in/") { $0.hasSuffix("a.nii") })
        #expect(try !table.containsFile(beginning: "/in/b") { _ in true })
        #expect(try !table.containsFile(beginning: "/in/z") { _ in true })
    }

    @Test("come as whole families, sorted by path, in portions")
    func families() throws {
        let table = try FoundTable()
        let files = (0..<2500).map { FoundFile(path: "/in/\($0)", name: "\($0)", root: "in") }
        _ = try table.add(files.map { ($0, FileIdentity(device: 1, inode: 1)) })
        var claims: [FoundTable.Claimed] = []
        try table.forEachFile { portion in
            for (number, _) in portion {
                let family = number % 2 == 0 ? "even" : "\(number % 4)"
                claims.append(.init(file: number, recipe: 1, family: family, isUnresponsive: number == 3))
            }
        }
        claims.append(.init(file: 1, recipe: 0, family: nil, isUnresponsive: false))
        try table.add(claims, unclaimed: [])
        try table.endClaims()
        var (found, last): ([[FoundFile]], String?) = ([], nil)
        while let portion = try table.families(of: 1, after: last) {
            found += portion.families
            last = portion.last
        }
        #expect(found.map(\.count) == [625, 625, 1250] && last == "even")
        #expect(found.allSatisfy { $0 == $0.sorted() })
        #expect(found.flatMap(\.self).filter(\.isUnresponsive).map(\.path) == ["/in/2"])
        #expect(try table.families(of: 0, after: nil) == nil)
        #expect(try table.isClaimed("/in/0", besides: 1) && !table.isClaimed("/in/1", besides: 1))
    }
}

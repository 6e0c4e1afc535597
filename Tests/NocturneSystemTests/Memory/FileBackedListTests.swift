import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A list whose elements are in a file")
struct FileBackedListTests {
    private static func text(_ random: inout SplitMix64) -> String {
        let letter = ["a", "é", "日", "\0"].randomElement(using: &random) ?? "a"
        return "\(UInt64.random(in: 0..<1000, using: &random))"
            + String(repeating: letter, count: Int.random(in: 0..<400, using: &random))
    }

    @Test("is what an array is, whatever is done with it, and copies stay as they were", arguments: [1, 2, 3])
    func model(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var (list, array) = (FileBackedList<String>(), [String]())
        var copies: [(FileBackedList<String>, [String])] = []
        for _ in 0..<12 {
            for _ in 0..<1000 {
                let text = Self.text(&random)
                list.append(text)
                array.append(text)
            }
            for _ in 0..<100 {
                let (place, text) = (Int.random(in: array.indices, using: &random), Self.text(&random))
                list[place] = text
                array[place] = text
            }
            let digit = ["1", "5", "9"].randomElement(using: &random) ?? "1"
            list.removeAll { $0.hasPrefix(digit) }
            array.removeAll { $0.hasPrefix(digit) }
            copies.append((list, array))
        }
        #expect(array.reduce(0) { $0 + $1.utf8.count } > 2 << 20)
        list.sort { String($0.prefix(3)) }
        array = array.enumerated().sorted {
            ($0.element.prefix(3), $0.offset) < ($1.element.prefix(3), $1.offset)
        }.map(\.element)
        for (list, array) in copies + [(list, array)] {
            #expect(list.count == array.count && list.elementsEqual(array))
            #expect(array.indices.shuffled(using: &random).prefix(500).allSatisfy { list[$0] == array[$0] })
            #expect(Array(list[10..<20]) == Array(array[10..<20]) && list.reversed().elementsEqual(array.reversed()))
        }
    }

    @Test("has elements of any length, and none")
    func lengths() {
        let lengths = [0, 1, 127, 128, 4090, 4096, 5000, 1 << 20 - 5, 1 << 20, 3 << 20, 2, 70_000, 0]
        let texts = lengths.map { String(repeating: "x", count: $0) + ($0 > 9 ? "end" : "") }
        let list = FileBackedList(texts)
        #expect(list.elementsEqual(texts) && list.indices.allSatisfy { list[$0] == texts[$0] })
        #expect(FileBackedList<String>().isEmpty && Array(FileBackedList<String>()).isEmpty)
    }

    @Test(
        "is sorted like an array, without changing the order of equal texts",
        arguments: [
            [], ["a"], ["b", "a"], ["c1", "b1", "a1", "b2", "c2", "a2"], ["a1", "b1", "a2", "b2", "a3"],
            (0..<100).map { "\(99 - $0)" },
        ]
    )
    func sorting(texts: [String]) {
        var list = FileBackedList(texts)
        list.sort { String($0.prefix(1)) }
        let sorted = texts.enumerated().sorted {
            ($0.element.prefix(1), $0.offset) < ($1.element.prefix(1), $1.offset)
        }
        #expect(Array(list) == sorted.map(\.element))
    }

    /// The files below a folder that the process has open, also those without a name.
    private static func openFiles(below folder: String) -> [String] {
        FileSystem.entries("/proc/self/fd").compactMap { entry in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + entry)
        }.filter { $0.hasPrefix(folder + "/") }
    }

    @Test("uses one file without a name, once it has more than a megabyte, and closes it at its end")
    func file() throws {
        let folder = try TemporaryFolder("nocturne-list")
        do {
            var list = FileBackedList<String>(folder: folder.path)
            for number in 0..<1000 { list.append("\(number)" + String(repeating: "x", count: 1000)) }
            #expect(Self.openFiles(below: folder.path).isEmpty)
            for number in 1000..<5000 { list.append("\(number)" + String(repeating: "x", count: 1000)) }
            let copy = list
            #expect(Self.openFiles(below: folder.path).count == 1 && FileSystem.entries(folder.path).isEmpty)
            #expect(copy.enumerated().allSatisfy { $1.hasPrefix("\($0)x") })
        }
        #expect(Self.openFiles(below: folder.path).isEmpty)
    }

    @Test("stays in memory where no file can be made")
    func noFolder() {
        var list = FileBackedList<String>(folder: "/no/such/folder")
        for number in 0..<5000 { list.append("\(number)" + String(repeating: "x", count: 1000)) }
        #expect(list.count == 5000 && list.enumerated().allSatisfy { $1.hasPrefix("\($0)x") })
    }

    @Test("is read by several threads at once")
    func threads() {
        let list = FileBackedList((0..<20_000).map { "\($0)" + String(repeating: "x", count: 200) })
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            var random = SplitMix64(seed: UInt64(thread))
            for _ in 0..<5000 {
                let place = Int.random(in: list.indices, using: &random)
                #expect(list[place].hasPrefix("\(place)x"))
            }
            #expect(list.enumerated().allSatisfy { $1.hasPrefix("\($0)x") })
        }
    }
}

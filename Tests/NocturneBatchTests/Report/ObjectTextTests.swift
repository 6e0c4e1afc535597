import NocturneBatch
import NocturneJournal
import Testing

@Suite("Titles and authors of objects")
struct ObjectTextTests {
    private func item(_ name: String, _ id: Int64) -> JournalItem {
        JournalItem(
            id: id,
            key: name,
            name: name,
            path: "/in/\(name).jpg",
            fingerprint: "f\(id)",
            state: .completed,
            reason: nil,
            crashes: 0,
            notes: []
        )
    }

    private func part(_ id: Int, _ state: ItemPart.State = .enriching) -> ItemPart {
        ItemPart(id: id, kind: "book", state: state, thumbnail: "thumbnails/\(id).jpg")
    }

    @Test("A table in any column order, separator and quoting is read; rows that are not filled in are left out")
    func reading() throws {
        let commas = "author,item,object,title,page\n\"Mann, Thomas\",shelf,2,Der Zauberberg,3\n,shelf,3, ,\n"
        let tabs = "\u{FEFF}Item\tObject\tTitle\tAuthor\r\nshelf\t2\t Der Zauberberg \tMann, Thomas\r\n"
        for text in [commas, tabs] {
            let rows = try ObjectTextTable(Array(text.utf8)).rows
            #expect(rows.count == 1 && rows[0].item == "shelf" && rows[0].object == 2)
            #expect(rows[0].title == "Der Zauberberg" && rows[0].author == "Mann, Thomas")
        }
        let faults = [
            "", "item,object,title\na,1,b\n", "item,object,title,author\na,0,b,c\n",
            "item,object,title,author\na,x,b,c\n",
            "item,object,title,author\na,1,\"b\nc\",d\n", "item,object,title,author\na,1,\"b\n",
            "item,object,title,author\na,1,\(String(repeating: "b", count: 1001)),c\n",
        ]
        for text in faults { #expect(throws: (any Error).self) { try ObjectTextTable(Array(text.utf8)) } }
        #expect(throws: (any Error).self) { try ObjectTextTable(Array("item,object,title,author\na,1,".utf8) + [0xE4]) }
    }

    @Test("The table of a batch, filled in, gives the texts; unknown objects are named and the rest still waits")
    func taking() throws {
        let items = [item("a", 1), item("b", 2)]
        let parts: [Int64: [ItemPart]] = [1: [part(1), part(2, .failed)], 2: [part(1)]]
        var lines = ObjectTextTable.lines(items, parts)
        #expect(
            lines == [
                "item,object,class,state,thumbnail,title,author", "a,1,book,enriching,a/thumbnails/1.jpg,,",
                "a,2,book,failed,a/thumbnails/2.jpg,,", "b,1,book,enriching,b/thumbnails/1.jpg,,",
            ]
        )
        lines[1] = "a,1,book,enriching,a/thumbnails/1.jpg,Emma,Jane Austen"
        lines += ["a,7,book,ready,,Emma,", "c,1,book,ready,,Emma,"]
        let table = try ObjectTextTable(Array(lines.joined(separator: "\n").utf8))
        let taken = ObjectTextImport([table], items: items, parts: parts)
        #expect(
            taken.texts == [ObjectText(item: "a", fingerprint: "f1", object: 1, title: "Emma", author: "Jane Austen")]
        )
        #expect(
            taken.summary
                == "1 objects have a title or author from the tables; 1 still wait for one. "
                + "Left out: 2 rows about objects that this batch does not have, such as a 7."
        )
        let ready = part(1).with(taken.texts[0])
        #expect(ready.state == .ready && ready.title == "Emma" && ready.author == "Jane Austen")
        #expect(part(2, .failed).with(taken.texts[0]).state == .failed)
        // A result that has changed since loses its texts.
        var changed = items[0]
        changed.fingerprint = "g"
        #expect(taken.texts.current(for: [changed]).isEmpty)
    }
}

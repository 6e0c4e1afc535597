import NocturneJournal
import NocturneOutput
import Testing

@Suite("What other tools have read on objects")
struct ObjectTextTests {
    private let fields = ["title", "author"]

    private func item(_ name: String, _ id: Int64) -> JournalItem {
        JournalItem(
            id: id,
            key: name,
            name: name,
            path: "/in/\(name).jpg",
            fingerprint: "f\(id)",
            state: .completed
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
            let rows = try ObjectTextTable(Array(text.utf8), fields: fields).rows
            #expect(rows.count == 1 && rows[0].item == "shelf" && rows[0].object == 2)
            #expect(
                rows[0].fields == [
                    .init(name: "title", value: "Der Zauberberg"), .init(name: "author", value: "Mann, Thomas"),
                ]
            )
        }
        let faults = [
            "", "item,object,title\na,1,b\n", "item,object,title,author\na,0,b,c\n",
            "item,object,title,author\na,x,b,c\n",
            "item,object,title,author\na,1,\"b\nc\",d\n", "item,object,title,author\na,1,\"b\n",
            "item,object,title,author\na,1,\(String(repeating: "b", count: 1001)),c\n",
        ]
        for text in faults {
            #expect(throws: (any Error).self) { try ObjectTextTable(Array(text.utf8), fields: fields) }
        }
    }

    @Test("Tables are read in UTF-8, UTF-16 and Windows-1252, and with Excel's first line; a workbook is refused")
    func encodings() throws {
        let text = "item;object;title;author\r\na;1;Über;\r\n"
        let wide = Array("\u{FEFF}\(text)".utf16)
        let forms: [[UInt8]] = [
            Array(text.utf8), Array("\u{FEFF}\(text)".utf8), Array("sep=;\r\n\(text)".utf8),
            text.unicodeScalars.map { UInt8($0.value) }, wide.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] },
            wide.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] },
        ]
        for bytes in forms {
            let rows = try ObjectTextTable(bytes, fields: fields).rows
            #expect(rows.map(\.item) == ["a"] && rows[0].fields == [.init(name: "title", value: "Über")], "\(bytes)")
        }
        let wrong = Array("sep=;\r\n\(text)a;x;Emma;\r\n".utf8)
        let fault = #expect(throws: NamedTable.Fault.self) { try ObjectTextTable(wrong, fields: fields) }
        #expect(fault?.row == 4)
        let workbook = #expect(throws: NamedTable.Fault.self) {
            try ObjectTextTable([0x50, 0x4B, 3, 4, 0], fields: fields)
        }
        #expect(workbook?.detail.hasPrefix("is a spreadsheet") == true)
    }

    @Test("A text that is too long, and one with a control character, are refused each with its cause")
    func causes() {
        for (title, cause) in [
            (String(repeating: "b", count: 1001), "the title has more than 1000 bytes. Shorten it"),
            ("\"b\nc\"", "the title has a control character, such as a line feed. Remove it"),
        ] {
            let fault = #expect(throws: NamedTable.Fault.self) {
                try ObjectTextTable(Array("item,object,title,author\na,1,\(title),\n".utf8), fields: fields)
            }
            #expect(fault?.row == 2 && fault?.detail == cause)
        }
    }

    @Test("Two rows with other texts of one object are refused; equal and empty ones are not")
    func repeatedRows() throws {
        func table(_ rows: String) throws(NamedTable.Fault) -> ObjectTextTable {
            try ObjectTextTable(Array("item,object,title,author\n\(rows)\n".utf8), fields: fields)
        }
        for other in ["a,1,Other,", "a,1,Emma,Jane Austen", "a,1,,Emma"] {
            let fault = #expect(throws: NamedTable.Fault.self) { try table("a,1,Emma,\na,2,Other,\n\(other)") }
            #expect(fault?.row == 4)
            #expect(fault?.detail == "object 1 of \"a\" has other texts in row 2. Keep one of these rows")
        }
        let equal = try table("a,1,Emma,\na,1,,\na,1, Emma ,\nb,1,Other,")
        #expect(equal.rows.map(\.item) == ["a", "b"])
        let later = try table("a,1,Later,")
        let taken = ObjectTextTable.Import([equal, later], items: [item("a", 1)], parts: [1: [part(1)]])
        let summary = taken.summary([1: [part(1, .ready)]])
        #expect(summary.hasPrefix("1 object has texts from the tables; 0 still wait"), "\(summary)")
        #expect(taken.texts.last?.fields.first?.value == "Later")
    }

    @Test("A hyphen removes a text, and all texts of an object where it has no other")
    func removal() throws {
        let text = "item,object,title,author\na,1,-,\na,2,-,Jane Austen\n"
        let table = try ObjectTextTable(Array(text.utf8), fields: fields)
        // As the journal gives them while both have texts.
        let parts = [Int64(1): [part(1, .ready), part(2, .ready)]]
        let taken = ObjectTextTable.Import([table], items: [item("a", 1)], parts: parts)
        #expect(taken.texts.map(\.fields) == [[], [.init(name: "author", value: "Jane Austen")]])
        #expect(
            taken.summary([1: [part(1), part(2, .ready)]])
                == "1 object has texts from the tables; 1 still waits for them. Those of 1 object were removed."
        )
    }

    @Test("Line feeds in names of a table break no line of a message")
    func lineFeeds() throws {
        let rows = "\"a\nb\",1,Emma,\n\"a\nb\",1,Other,\n"
        let table = Array("item,object,title,author\n\(rows)".utf8)
        let fault = #expect(throws: NamedTable.Fault.self) { try ObjectTextTable(table, fields: fields) }
        #expect(fault?.detail.hasPrefix("object 1 of \"a\u{FFFD}b\" has other texts in row 2") == true)
        let known = try ObjectTextTable(Array("item,object,title,author\n\"a\nb\",1,Emma,\n".utf8), fields: fields)
        let parts = [Int64(1): [part(1)]]
        let summary = ObjectTextTable.Import([known], items: [item("a", 1)], parts: parts).summary(parts)
        #expect(summary.hasSuffix("such as a\u{FFFD}b 1."), "\(summary)")
    }

    @Test("A text is a known title only where that is certain")
    func knownTitles() throws {
        let table = "title,author\nMoby Dick,Herman Melville\nEmma,Jane Austen\nEmmas,\nThe Trial I,\nThe Trial II,\n"
        let titles = try KnownTitles(Array(table.utf8), fields: fields)
        func title(_ text: String) -> String? { titles.match(text)?.fields.map(\.value).joined(separator: "/") }
        for text in ["MOBY-DICK", "Moby Dlck", "Herman Melvile Moby Dick", "moby dick  HERMAN MELVILLE"] {
            #expect(title(text) == "Moby Dick/Herman Melville", "\(text)")
        }
        #expect(titles.match("MOBY DlCK")?.score == 0.875)
        // Another title has 0.8; then nothing in common, and two titles that are about as near.
        #expect(title("Emma") == "Emma/Jane Austen")
        for text in ["Walden", "The Trial", "", "--"] { #expect(title(text) == nil, "\(text)") }
        var (read, corrected) = (part(1), part(2))
        read.texts = [.init(name: "text", value: "EMMA")]
        corrected.texts = [.init(name: "text", value: "EMMA"), .init(name: "title", value: "Other")]
        let rows = ObjectTextTable(titles, items: [item("a", 1)], parts: [1: [read, corrected]]).rows
        #expect(rows.map(\.object) == [1] && rows[0].fields.map(\.value) == ["Emma", "Jane Austen", "1.0"])
        #expect(throws: (any Error).self) { try KnownTitles(Array("author\na\n".utf8), fields: fields) }
    }

    @Test("A title that begins like a formula is the same after it was written and read")
    func formula() throws {
        var read = part(1)
        read.texts = [.init(name: "title", value: "=1984"), .init(name: "author", value: "'-Orwell'")]
        let lines = ObjectTextTable.lines([item("a", 1)], [1: [read]], fields: fields)
        #expect(lines[1].hasSuffix(",'=1984,''-Orwell'"))
        let table = try ObjectTextTable(Array(lines.joined(separator: "\n").utf8), fields: fields)
        #expect(table.rows.first?.fields.map(\.value) == ["=1984", "'-Orwell'"])
    }

    @Test("The table of a batch, filled in, gives the texts; unknown objects are named and the rest still waits")
    func taking() throws {
        let items = [item("a", 1), item("b", 2)]
        var read = part(1)
        read.texts = [.init(name: "text", value: "EMNA")]
        let parts: [Int64: [ItemPart]] = [1: [part(1), part(2, .failed)], 2: [read]]
        var lines = ObjectTextTable.lines(items, parts, fields: fields)
        #expect(
            lines == [
                "item,object,class,state,thumbnail,text,title,author", "a,1,book,enriching,a/thumbnails/1.jpg,,,",
                "a,2,book,failed,a/thumbnails/2.jpg,,,", "b,1,book,enriching,b/thumbnails/1.jpg,EMNA,,",
            ]
        )
        lines[1] = "a,1,book,enriching,a/thumbnails/1.jpg,,Emma,Jane Austen"
        lines += ["a,7,book,ready,,,Emma,", "c,1,book,ready,,,Emma,"]
        let table = try ObjectTextTable(Array(lines.joined(separator: "\n").utf8), fields: fields)
        let taken = ObjectTextTable.Import([table], items: items, parts: parts)
        let emma: [ObjectText.Field] = [
            .init(name: "title", value: "Emma"), .init(name: "author", value: "Jane Austen"),
        ]
        #expect(taken.texts == [ObjectText(item: "a", fingerprint: "f1", object: 1, fields: emma)])
        #expect(
            taken.summary([1: [part(1).with(taken.texts[0]), part(2, .failed)], 2: [read]])
                == "1 object has texts from the tables; 1 still waits for them. "
                + "Left out: 2 rows about objects that this batch does not have, such as a 7."
        )
        let ready = part(1).with(taken.texts[0])
        #expect(ready.state == .ready && ready.texts == emma)
        // What a model has read stays.
        #expect(read.with(taken.texts[0]).texts == read.texts.map { $0 + emma })
        #expect(part(2, .failed).with(taken.texts[0]).state == .failed)
        // A result that has changed since loses its texts.
        var changed = items[0]
        changed.fingerprint = "g"
        #expect(taken.texts.current(for: [changed]).isEmpty)
    }
}

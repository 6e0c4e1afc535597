/// Writes little-endian TIFFs of lossless JPEG (compression 7, frames of the process SOF3).
struct LosslessTIFF {
    var width: Int
    var height: Int
    var components = 1
    /// 8 to 16.
    var bits = 8
    /// Of strips; all rows by default.
    var rowsPerStrip: Int?
    /// The edge of a tile, instead of strips.
    var tile: Int?
    /// Whether the file has the tables once, and not each strip or tile.
    var sharesTables = false

    /// - Parameter sample: the value at column, row and component.
    func bytes(_ sample: (Int, Int, Int) -> Int) -> [UInt8] {
        let (columns, rows) = (tile ?? width, tile ?? rowsPerStrip ?? height)
        var streams: [[UInt8]] = []
        for top in stride(from: 0, to: height, by: rows) {
            for left in stride(from: 0, to: width, by: columns) {
                // Tiles are whole, the last strip is not.
                let count = tile == nil ? min(rows, height - top) : rows
                streams.append(
                    stream(columns, count) { x, y, component in
                        left + x < width && top + y < height ? sample(left + x, top + y, component) : 0
                    }
                )
            }
        }
        return file(streams, columns, rows)
    }

    // MARK: The file

    private func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private func file(_ streams: [[UInt8]], _ columns: Int, _ rows: Int) -> [UInt8] {
        let tables: [UInt8] = [0xFF, 0xD8] + Self.table + [0xFF, 0xD9]
        // Tag, bytes of a number, numbers.
        var fields: [(tag: Int, size: Int, values: [Int])] = [
            (256, 4, [width]), (257, 4, [height]), (258, 2, [Int](repeating: bits, count: components)), (259, 2, [7]),
            (262, 2, [components == 3 ? 2 : 1]), (277, 2, [components]),
        ]
        let places = fields.count
        let sizes = streams.map(\.count)
        fields.append((tile == nil ? 273 : 324, 4, sizes))
        fields.append(tile == nil ? (278, 4, [rows]) : (322, 4, [columns]))
        fields.append(tile == nil ? (279, 4, sizes) : (323, 4, [rows]))
        if tile != nil { fields.append((325, 4, sizes)) }
        if sharesTables { fields.append((347, 1, tables.map(Int.init))) }
        let outside = fields.map { $0.values.count * $0.size }.filter { $0 > 4 }.reduce(0, +)
        var data = 8 + 2 + fields.count * 12 + 4
        var start = data + outside
        fields[places].values = sizes.map { size in
            defer { start += size }
            return start
        }
        var (directory, values): ([UInt8], [UInt8]) = (little(fields.count, 2), [])
        for field in fields.sorted(by: { $0.tag < $1.tag }) {
            let content = field.values.flatMap { little($0, field.size) }
            let type = [1: 7, 2: 3, 4: 4][field.size] ?? 0
            directory += little(field.tag, 2) + little(type, 2) + little(field.values.count, 4)
            if content.count > 4 {
                directory += little(data, 4)
                data += content.count
                values += content
            } else {
                directory += content + [UInt8](repeating: 0, count: 4 - content.count)
            }
        }
        let head: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0]
        return head + directory + [0, 0, 0, 0] + values + streams.flatMap(\.self)
    }

    // MARK: A stream

    /// The categories 0 to 16, each with a code of 5 bits that is its number.
    private static let table: [UInt8] =
        [0xFF, 0xC4, 0, 36, 0, 0, 0, 0, 0, 17] + [UInt8](repeating: 0, count: 11) + (0...16).map { UInt8($0) }

    /// With the predictor 1, the value to the left.
    private func stream(_ columns: Int, _ rows: Int, _ sample: (Int, Int, Int) -> Int) -> [UInt8] {
        var bits = BitWriter()
        for y in 0..<rows {
            for x in 0..<columns {
                for component in 0..<components {
                    let predicted =
                        x > 0
                        ? sample(x - 1, y, component)
                        : y > 0 ? sample(x, y - 1, component) : 1 << (self.bits - 1)
                    let difference = Int(Int16(truncatingIfNeeded: sample(x, y, component) - predicted))
                    let category = Int.bitWidth - abs(difference).leadingZeroBitCount
                    bits.write(category, 5)
                    if category == 16 { continue }
                    bits.write(difference > 0 ? difference : difference + (1 << category) - 1, category)
                }
            }
        }
        let list = (1...components).map { UInt8($0) }
        func big(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
        var frame: [UInt8] = [0xFF, 0xC3, 0, UInt8(8 + 3 * components), UInt8(self.bits)]
        frame += big(rows) + big(columns) + [UInt8(components)]
        frame += list.flatMap { [$0, 0x11, 0] }
        var scan: [UInt8] = [0xFF, 0xDA, 0, UInt8(6 + 2 * components), UInt8(components)]
        scan += list.flatMap { [$0, 0] } + [1, 0, 0]
        let start: [UInt8] = [0xFF, 0xD8] + (sharesTables ? [] : Self.table)
        return start + frame + scan + bits.finish() + [0xFF, 0xD9]
    }

    private struct BitWriter {
        private var bytes: [UInt8] = []
        private var buffer = 0
        private var count = 0

        mutating func write(_ value: Int, _ bits: Int) {
            buffer = buffer << bits | value
            count += bits
            while count >= 8 {
                let byte = UInt8(buffer >> (count - 8) & 255)
                bytes += byte == 0xFF ? [0xFF, 0] : [byte]
                count -= 8
                buffer &= (1 << count) - 1
            }
        }

        mutating func finish() -> [UInt8] {
            if count > 0 { write((1 << (8 - count)) - 1, 8 - count) }
            return bytes
        }
    }
}

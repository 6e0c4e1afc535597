extension PhotoReader {
    /// Reads only the orientation tag of an Exif block.
    enum ExifOrientation {
        /// 1 to 8; nil when the block has no valid value. Reads only the first directory.
        static func find(in block: [UInt8]) -> Int? {
            // Some writers repeat the marker's own name at the start.
            let start = block.starts(with: [0x45, 0x78, 0x69, 0x66, 0, 0]) ? 6 : 0
            guard block.count >= start + 8 else { return nil }
            let isBigEndian: Bool
            switch (block[start], block[start + 1]) {
            case (0x49, 0x49): isBigEndian = false
            case (0x4D, 0x4D): isBigEndian = true
            default: return nil
            }
            func number(at offset: Int, _ size: Int) -> Int? {
                let place = start + offset
                guard place + size <= block.count else { return nil }
                let bytes = block[place..<place + size]
                return isBigEndian
                    ? bytes.reduce(0) { $0 << 8 | Int($1) }
                    : bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
            }
            // Offsets have four bytes and counts two, so none of the sums below overflows.
            guard number(at: 2, 2) == 42, let directory = number(at: 4, 4), let count = number(at: directory, 2) else {
                return nil
            }
            for index in 0..<count {
                let entry = directory + 2 + 12 * index
                guard let tag = number(at: entry, 2), let type = number(at: entry + 2, 2) else { return nil }
                guard tag == 0x0112 else { continue }
                // The standard specifies a short; some programs write a long.
                let size = type == 4 ? 4 : 2
                guard type == 3 || type == 4, let value = number(at: entry + 8, size) else { return nil }
                return (1...8).contains(value) ? value : nil
            }
            return nil
        }

        /// The block in the hexadecimal text that ImageMagick writes into PNG: a name, a length, then the digits.
        static func block(fromHexadecimal text: [UInt8]) -> [UInt8] {
            let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true).dropFirst(2)
            var bytes: [UInt8] = []
            var high: UInt8?
            for digit in lines.joined() {
                guard let value = Character(UnicodeScalar(digit)).hexDigitValue else { continue }
                if let first = high {
                    bytes.append(first << 4 | UInt8(value))
                    high = nil
                } else {
                    high = UInt8(value)
                }
            }
            return bytes
        }
    }
}

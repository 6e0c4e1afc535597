/// The text encoding of a mask as written by COCO's own tools (pycocotools, `rleToString`).
extension RunLengthMask {
    /// Each count, from the fourth on as the difference from the one two before, as signed groups of five bits, lowest
    /// first, each as a character starting at "0"; a sixth bit indicates that another group follows.
    public var cocoString: String {
        var text: [UInt8] = []
        for (index, count) in counts.enumerated() {
            var value = Int(count)
            if index > 2 { value -= Int(counts[index - 2]) }
            var continues = true
            while continues {
                var group = value & 0x1F
                value >>= 5
                continues = group & 0x10 != 0 ? value != -1 : value != 0
                if continues { group |= 0x20 }
                text.append(UInt8(group + 48))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads the text written by ``cocoString``.
    /// - Throws: ``NetworkOutputError`` for an invalid size or text.
    public init(width: Int, height: Int, cocoString: String) throws(NetworkOutputError) {
        guard width > 0, height > 0, width < 1 << 20, height < 1 << 20, width * height <= Int(UInt32.max) else {
            throw NetworkOutputError(detail: "a mask of \(width)×\(height) pixels")
        }
        var counts: [Int] = []
        var value = 0
        var bits = 0
        var isWhole = true
        for byte in cocoString.utf8 {
            guard (48..<112).contains(byte), bits <= 35 else {
                throw NetworkOutputError(detail: "a run-length text with an impossible count")
            }
            let group = Int(byte) - 48
            value |= (group & 0x1F) << bits
            bits += 5
            isWhole = group & 0x20 == 0
            guard isWhole else { continue }
            if group & 0x10 != 0 { value |= -1 << bits }
            if counts.count > 2 { value += counts[counts.count - 2] }
            counts.append(value)
            (value, bits) = (0, 0)
        }
        guard isWhole else { throw NetworkOutputError(detail: "a run-length text that ends within a count") }
        try self.init(width: width, height: height, counts: counts)
    }

    /// A mask from COCO's uncompressed counts.
    /// - Throws: ``NetworkOutputError`` when the counts do not add up to the picture's size.
    public init(width: Int, height: Int, counts: [Int]) throws(NetworkOutputError) {
        guard width > 0, height > 0, width < 1 << 20, height < 1 << 20, width * height <= Int(UInt32.max) else {
            throw NetworkOutputError(detail: "a mask of \(width)×\(height) pixels")
        }
        var place = 0
        var runs: [Range<Int>] = []
        for (index, count) in counts.enumerated() {
            guard count >= 0, count <= width * height - place else {
                throw NetworkOutputError(detail: "runs that do not fit into \(width)×\(height) pixels")
            }
            if index % 2 == 1, count > 0 { runs.append(place..<place + count) }
            place += count
        }
        guard place == width * height else {
            throw NetworkOutputError(detail: "runs of \(place) pixels for \(width)×\(height)")
        }
        self.init(width: width, height: height, runs: runs)
    }
}

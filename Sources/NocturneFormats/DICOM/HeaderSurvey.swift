internal import NocturneSystem

/// Which files belong to one series, known from their headers without keeping these: four bytes a file, and eight more once they are divided.
struct HeaderSurvey: Sendable {
    /// For each file the number of its series; ``none`` for a file that is no object.
    private var series: [UInt32]
    private var numberOfKey: [String: UInt32] = [:]
    /// What is wrong with files that should be objects, by their places. The rest of ``none`` is not DICOM.
    private var faults: [Int: DICOMReadError] = [:]

    private static let none = UInt32.max

    init(count: Int) { series = Array(repeating: Self.none, count: count) }

    mutating func set(_ header: HeaderReader.Header, at place: Int) {
        switch header {
        case .notDICOM: break
        case .fault(let fault): faults[place] = fault
        case .object(let object):
            let key = SeriesTriage.key(of: object.wrappedValue)
            let number = numberOfKey[key] ?? UInt32(numberOfKey.count)
            numberOfKey[key] = number
            series[place] = number
        }
    }

    /// Adds files that come to lie at `places`, in ascending order, among those that are known.
    mutating func insert(_ headers: [HeaderReader.Header], at places: [Int]) {
        var merged = HeaderSurvey(count: series.count + places.count)
        merged.numberOfKey = numberOfKey
        var (added, place) = (0, 0)
        for number in series {
            while added < places.count, places[added] == place + added { added += 1 }
            merged.series[place + added] = number
            if let fault = faults[place] { merged.faults[place + added] = fault }
            place += 1
        }
        for (header, place) in zip(headers, places) { merged.set(header, at: place) }
        self = merged
    }

    /// The files that are no objects, in order.
    func others(of paths: SortedPaths) -> [HeaderReader.File] {
        series.indices.filter { series[$0] == Self.none }.map { place in
            HeaderReader.File(path: paths[place], header: faults[place].map { .fault($0) } ?? .notDICOM)
        }
    }

    /// Divides the objects into parts of whole series, in the order of their first paths.
    /// - Parameter count: the number of files in a part; a larger series is a part of its own.
    /// - Returns: the places of the files of each part, in ascending order.
    func parts(atMost count: Int) -> [[Int]] {
        // Numbers in the order of the first paths: threads may have found the series in another one.
        var order = Array(repeating: Self.none, count: numberOfKey.count)
        var sizes: [Int] = []
        for number in series where number != Self.none {
            if order[Int(number)] == Self.none {
                order[Int(number)] = UInt32(sizes.count)
                sizes.append(0)
            }
            sizes[Int(order[Int(number)])] += 1
        }
        var partOfSeries: [Int] = []
        var sizeOfPart: [Int] = []
        for size in sizes {
            if let last = sizeOfPart.last, last + size <= count {
                sizeOfPart[sizeOfPart.count - 1] += size
            } else {
                sizeOfPart.append(size)
            }
            partOfSeries.append(sizeOfPart.count - 1)
        }
        var parts = sizeOfPart.map { size in
            var part: [Int] = []
            part.reserveCapacity(size)
            return part
        }
        for (place, number) in series.enumerated() where number != Self.none {
            parts[partOfSeries[Int(order[Int(number)])]].append(place)
        }
        return parts
    }
}

// SPDX-License-Identifier: Apache-2.0
// Stores numbers that nobody else stores into members of several classes, and
// reads them back, while objects are born, moved and forgotten.  Says first
// which number goes where: a line a kind, "CLASS MEMBER SIZE"; store number i
// is MAGIC + i, and is of kind i % kinds; "%" in a member is its element.
// Usage: Truth STORES.  Starts when a line comes on standard input.

public class Truth extends TruthBase {
	static final int MAGIC = 0x5a000000;
	static final int OBJECTS = 64, ELEMENTS = 100;
	static int variable;
	static long longVariable;

	byte small;
	int number;
	float real;
	long big;
	String text = "text";

	static class Node {
		Node next;
		int value;

		Node(Node next) {
			this.next = next;
		}
	}

	interface Shape {
		void put(int i);
	}

	record Pair(int[] values, long[][] rows) {
	}

	enum Color {
		RED, GREEN;

		int shade;
	}

	static Truth[] truths = new Truth[OBJECTS];
	static Node[] nodes = new Node[OBJECTS];
	static Pair[] pairs = new Pair[OBJECTS];
	static Shape[] shapes = new Shape[OBJECTS];
	static Object garbage;

	static Shape shape() {
		return new Shape() {
			int drawn;

			public void put(int i) {
				drawn = MAGIC + i;
				if (drawn != MAGIC + i)
					throw new IllegalStateException();
			}
		};
	}

	static void fill(int i) {
		truths[i] = new Truth();
		nodes[i] = new Node(new Node(null));
		pairs[i] = new Pair(new int[ELEMENTS],
				    new long[2][ELEMENTS]);
		shapes[i] = shape();
	}

	static final String[] KINDS = {
		"Truth\tinherited\t4", "Truth\tnumber\t4", "Truth\treal\t4",
		"Truth\tbig\t8", "Truth$Node\tvalue\t4", "int[]\t[%]\t4",
		"long[]\t[%]\t8", "Truth$1\tdrawn\t4",
		"Truth\tstatic variable\t4", "Truth\tstatic longVariable\t8",
		"Truth$Color\tshade\t4",
	};

	static long wide(int i) {
		return (long)(MAGIC + i) << 32 | (MAGIC + i);
	}

	static boolean store(int i) {
		int mark = MAGIC + i, at = i / KINDS.length % OBJECTS;
		int element = i % ELEMENTS;
		Truth truth = truths[at];
		int[] values = pairs[at].values;
		long[] row = pairs[at].rows[1];

		switch (i % KINDS.length) {
		case 0:
			truth.inherited = mark;
			return truth.inherited == mark;
		case 1:
			truth.number = mark;
			return truth.number == mark;
		case 2:
			truth.real = Float.intBitsToFloat(mark);
			return truth.real > 0;
		case 3:
			truth.big = wide(i);
			return truth.big == wide(i);
		case 4:
			nodes[at].next.value = mark;
			return nodes[at].next.value == mark;
		case 5:
			values[element] = mark;
			return values[element] == mark;
		case 6:
			row[element] = wide(i);
			return row[element] == wide(i);
		case 7:
			shapes[at].put(i);
			return true;
		case 8:
			variable = mark;
			return variable == mark;
		case 9:
			longVariable = wide(i);
			return longVariable == wide(i);
		default:
			Color.GREEN.shade = mark;
			return Color.GREEN.shade == mark;
		}
	}

	public static void main(String[] arguments) throws Exception {
		int stores = Integer.parseInt(arguments[0]);

		for (int i = 0; i < OBJECTS; i++)
			fill(i);
		for (String kind : KINDS)
			System.out.println(kind);
		/* Collections are to find little that they must copy. */
		System.gc();
		System.out.println("ready");
		System.in.read();
		for (int i = 0; i < stores; i++) {
			if (!store(i))
				System.exit(1);
			if (i % 16 == 0) {
				fill(i / 16 % OBJECTS);
				garbage = new byte[200000];
			}
		}
		System.out.println("done");
	}
}

class TruthBase {
	int inherited;
	double wide;
}

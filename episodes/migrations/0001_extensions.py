from django.db import migrations
from pgvector.django import VectorExtension


class Migration(migrations.Migration):
    """pgvector. On the embedded server the starter has put it into template1 already."""

    initial = True
    dependencies = []
    operations = [VectorExtension()]
